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
    /// The number of positions of one channel.
    private let positions: Int
    private let workspace: Workspace

    init(_ call: PreparedCall) throws(Unsuitable) {
        try call.requireContiguousFloats([call.inputs[0], call.outputs[0]])
        (source, target, workspace) = (call.inputs[0], call.outputs[0], call.workspace)
        (batch, channels) = (source.shape.dimensions[0], source.shape.dimensions[1])
        positions = source.shape.dimensions[2...].reduce(1, *)
        switch call.operation {
        case let operation as GroupNorm: (groups, epsilon) = (operation.groups, operation.epsilon)
        case let operation as InstanceNorm: (groups, epsilon) = (channels, operation.epsilon)
        default: throw Unsuitable("is for group_norm and instance_norm only")
        }
        length = call.input("length")
        try call.require(length?.layout.isContiguous ?? true, "reads contiguous lengths only")
        if let weight = call.input("weight"), let bias = call.input("bias") {
            scales = (weight, bias)
            try call.requireContiguousFloats([weight, bias])
            scaleStride = weight.shape.rank == 2 ? channels : 0
        } else {
            (scales, scaleStride) = (nil, 0)
        }
    }

    var check: (@Sendable () throws -> Void)? {
        guard let length else { return nil }
        return { [positions, count = length.shape.count] in
            guard let numbers = length.start(as: Int64.self) else { return }
            for index in 0..<count where numbers[index] < 1 || numbers[index] > positions {
                throw OperatorError("expected 1 to \(positions) valid positions, found \(numbers[index])")
            }
        }
    }

    var steps: [KernelStep] {
        let width = channels / max(groups, 1)
        let hasOneLength = length?.shape.count == 1
        return [
            KernelStep(positions == 0 ? 0 : batch * groups) { [self] row, _ in
                guard let source = source.contiguousFloats, let target = target.contiguousFloats else { return }
                let weights = scales?.weight.contiguousFloats, biases = scales?.bias.contiguousFloats
                let (example, group) = (row / groups, row % groups)
                let lengths = length?.start(as: Int64.self)
                let count = lengths.map { Int($0[hasOneLength ? 0 : example]) } ?? positions
                let (x, y) = (source + row * width * positions, target + row * width * positions)
                // Only instance norms, whose width is 1, have positions that do not count.
                let values = width == 1 ? count : width * positions
                let mean = sum(x, values) { $0 } / Double(values)
                let variance = sum(x, values) { ($0 - mean) * ($0 - mean) } / Double(values)
                let factor = 1 / (variance + epsilon).squareRoot()
                for index in 0..<width {
                    if workspace.isCancelled { return }
                    let channel = example * scaleStride + group * width + index
                    let scale = Double(weights?[channel] ?? 1) * factor
                    let shift = Double(biases?[channel] ?? 0) - mean * scale
                    let (from, to) = (x + index * positions, y + index * positions)
                    workspace.forEachPart(of: count) { positions in
                        for position in positions { to[position] = Float(Double(from[position]) * scale + shift) }
                    }
                    workspace.forEachPart(of: positions - count) { rest in
                        for position in rest { to[count + position] = 0 }
                    }
                }
            }
        ]
    }

    /// Sums in float64, eight side by side.
    @inline(__always)
    private func sum(
        _ x: UnsafePointer<Float>, _ count: Int, _ function: (SIMD8<Double>) -> SIMD8<Double>
    ) -> Double {
        var sums = SIMD8<Double>.zero
        workspace.forEachPart(of: count & ~7) { part in
            for start in stride(from: part.lowerBound, to: part.upperBound, by: 8) {
                sums += function(SIMD8<Double>(UnsafeRawPointer(x + start).loadUnaligned(as: SIMD8<Float>.self)))
            }
        }
        var rest = 0.0
        for index in count & ~7..<count { rest += function(SIMD8(repeating: Double(x[index])))[0] }
        return sums.sum() + rest
    }
}
