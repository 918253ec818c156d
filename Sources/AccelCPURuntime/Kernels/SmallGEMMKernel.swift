import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation for a few rows of x: some rows of the weight are decoded to the cache and multiplied
/// with all rows of x from there. No panels are packed, which would take longer than so few products.
struct SmallGEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [Linear.self]
    /// Floats of decoded rows that stay in the second cache level beside x.
    private static let floatsAtOnce = 1 << 14
    private let source: OperandMemory
    private let weight: OperandMemory
    /// Nil: none.
    private let bias: OperandMemory?
    private let target: OperandMemory
    private let activation: Activation
    /// Rows of x.
    private let rows: Int
    private let (depth, width): (Int, Int)

    init(_ call: PreparedCall) throws(Unsuitable) {
        guard let operation = call.operation as? Linear else { throw Unsuitable("is for linear only") }
        (source, weight, target) = (call.inputs[0], call.inputs[1], call.outputs[0])
        guard weight.layout.isContiguous, weight.elementType == .float32 else {
            throw Unsuitable("takes contiguous float32 matrices")
        }
        bias = call.input("bias")
        try call.requireContiguousFloats([source, target] + (bias.map { [$0] } ?? []))
        activation = operation.activation
        rows = source.shape.dimensions.dropLast().reduce(1, *)
        (width, depth) = (weight.shape.dimensions[0], weight.shape.dimensions[1])
    }

    var cost: Double { LinearCost.fewRows(rows) }
    var reason: String {
        "\(weight.storedWeight?.encoding ?? "float32 in memory") rows decoded to the cache; each meets \(rows) rows"
    }

    var steps: [KernelStep] {
        let (depth, width, rows) = (depth, width, rows)
        let rowsAtOnce = max(8, Self.floatsAtOnce / max(depth, 1) / 8 * 8)
        let stored = weight.storedWeight.flatMap { $0.floatsInPlace == nil ? $0 : nil }
        let scratch = stored.map { rowsAtOnce * depth + $0.scratchFloats(rows: rowsAtOnce) } ?? 0
        return [
            KernelStep((width + rowsAtOnce - 1) / rowsAtOnce, scratchFloats: scratch) { piece, scratch in
                let columns = piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, width)
                let floats = weight.storedWeight?.floatsInPlace ?? weight.contiguousFloats.map { UnsafePointer($0) }
                var weights = floats.map { $0 + columns.lowerBound * depth }
                if let stored {
                    stored.decode(columns, into: scratch, scratch: scratch + rowsAtOnce * depth)
                    weights = UnsafePointer(scratch)
                }
                guard let x = source.contiguousFloats, let target = target.contiguousFloats, let weights else { return }
                ck_dot_many(
                    x, depth, rows, weights, depth, columns.count, depth, target + columns.lowerBound, width)
                for row in 0..<rows {
                    activation.apply(to: target + row * width + columns.lowerBound, of: columns, adding: bias)
                }
            }
        ]
    }
}
