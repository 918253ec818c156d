import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// `x W^T + bias` with its activation for few rows of x, as in a step of one token: the rows of the weight are multiplied
/// as they are decoded, in registers, and no panels are packed.
struct LinearStepKernel: Kernel {
    static let operators: [any Operator.Type] = [Linear.self]
    /// With more rows of x it takes less time to decode the weight once.
    private static let mostRows = 2
    private let source: OperandMemory
    private let weight: CompressedTensor
    /// Nil: none.
    private let bias: OperandMemory?
    private let target: OperandMemory
    private let activation: Activation
    /// Rows of x.
    private let rows: Int

    init?(_ call: PreparedCall) {
        guard let operation = call.operation as? Linear, case .weight(let weight) = call.inputs[1].place,
            call.inputs[0].contiguousFloats != nil, call.outputs[0].contiguousFloats != nil
        else { return nil }
        self.weight = weight
        (source, target) = (call.inputs[0], call.outputs[0])
        bias = call.inputs.count == 3 ? call.inputs[2] : nil
        if let bias, bias.contiguousFloats == nil { return nil }
        activation = operation.activation
        rows = source.shape.dimensions.dropLast().reduce(1, *)
        guard rows <= Self.mostRows else { return nil }
    }

    func run(on workers: Workers) {
        guard let source = source.contiguousFloats else { return }
        let (depth, width) = (weight.shape.columns, weight.shape.rows)
        let vectors = (0..<rows).map { row in
            DotVector(UnsafeBufferPointer(start: source + row * depth, count: depth))
        }
        // Some 32 KB of codes of 4 bits, in whole groups of rows that share a palette.
        let columnsAtOnce = max(16, (1 << 16) / max(depth, 1) / 16 * 16)
        workers.forEach((width + columnsAtOnce - 1) / columnsAtOnce) { piece, _ in
            guard let target = target.contiguousFloats else { return }
            let columns = piece * columnsAtOnce..<min((piece + 1) * columnsAtOnce, width)
            for row in 0..<rows {
                let place = target + row * width + columns.lowerBound
                weight.codec.dot(columns, of: weight, with: vectors[row], into: place)
                if let bias = bias?.contiguousFloats {
                    for (index, column) in columns.enumerated() { place[index] += bias[column] }
                }
                activation.apply(to: place, count: columns.count)
            }
        }
    }
}
