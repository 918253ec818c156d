import AccelPrograms
import AccelTensors

/// Norms over positions: of each channel, or of the channels of a group.
struct PositionNormKernel: Kernel {
    static let operators: [any Operator.Type] = [GroupNorm.self, InstanceNorm.self]
    private let source: OperandMemory
    private let target: OperandMemory
    /// Weight and bias; nil: 1 and 0.
    private let scales: (weight: OperandMemory, bias: OperandMemory)?
    /// Scales of each example of a batch are apart by this many.
    private let scaleStride: Int
    private let length: OperandMemory?
    private let epsilon: Double
    private let batch: Int
    private let channels: Int
    private let groups: Int
    /// Of one channel.
    private let positions: Int

    init?(_ call: PreparedCall) {
        guard let first = call.inputs.first, first.contiguousFloats != nil,
            call.outputs[0].contiguousFloats != nil
        else { return nil }
        (source, target) = (first, call.outputs[0])
        (batch, channels) = (source.shape.dimensions[0], source.shape.dimensions[1])
        positions = source.shape.dimensions[2...].reduce(1, *)
        switch call.operation {
        case let operation as GroupNorm: (groups, epsilon) = (operation.groups, operation.epsilon)
        case let operation as InstanceNorm: (groups, epsilon) = (channels, operation.epsilon)
        default: return nil
        }
        let isNumbered = call.operation is InstanceNorm && call.inputs.count % 2 == 0
        length = isNumbered ? call.inputs[call.inputs.count - 1] : nil
        if call.inputs.count >= 3 {
            scales = (call.inputs[1], call.inputs[2])
            guard call.inputs[1].layout.isContiguous, call.inputs[2].layout.isContiguous else { return nil }
            scaleStride = call.inputs[1].shape.rank == 2 ? channels : 0
        } else {
            (scales, scaleStride) = (nil, 0)
        }
    }

    func run(on workers: Workers) throws {
        var valid = [Int](repeating: positions, count: batch)
        if let length {
            let numbers = length.tensor().integers
            for number in numbers where number < 1 || number > positions {
                throw OperatorError("\(number) valid positions are not from 1 to \(positions)")
            }
            valid = (0..<batch).map { Int(numbers[numbers.count == 1 ? 0 : $0]) }
        }
        let weights = scales.map { $0.weight.tensor().floats }
        let biases = scales.map { $0.bias.tensor().floats }
        let width = channels / max(groups, 1)
        workers.forEach(positions == 0 ? 0 : batch * groups) { [valid] row, _ in
            guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
            let (example, group) = (row / groups, row % groups)
            let count = valid[example]
            let (x, y) = (source + row * width * positions, target + row * width * positions)
            // Only instance norms, whose width is 1, have positions that do not count.
            let values = width == 1 ? count : width * positions
            let mean = Self.sum(x, values) { $0 } / Double(values)
            let variance = Self.sum(x, values) { ($0 - mean) * ($0 - mean) } / Double(values)
            let factor = 1 / (variance + epsilon).squareRoot()
            for index in 0..<width {
                let channel = example * scaleStride + group * width + index
                let scale = Double(weights?[channel] ?? 1) * factor
                let shift = Double(biases?[channel] ?? 0) - mean * scale
                let (from, to) = (x + index * positions, y + index * positions)
                for place in 0..<count { to[place] = Float(Double(from[place]) * scale + shift) }
                for place in count..<positions { to[place] = 0 }
            }
        }
    }

    /// Sums in float64, eight side by side.
    @inline(__always)
    private static func sum(
        _ x: UnsafePointer<Float>, _ count: Int, _ function: (SIMD8<Double>) -> SIMD8<Double>
    ) -> Double {
        var sums = SIMD8<Double>.zero
        for start in stride(from: 0, to: count & ~7, by: 8) {
            sums += function(SIMD8<Double>(UnsafeRawPointer(x + start).loadUnaligned(as: SIMD8<Float>.self)))
        }
        var rest = 0.0
        for index in count & ~7..<count { rest += function(SIMD8(repeating: Double(x[index])))[0] }
        return sums.sum() + rest
    }
}
