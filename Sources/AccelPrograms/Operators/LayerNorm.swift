import AccelTensors

/// Layer normalisation (Ba et al., 2016): `(x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias` over the last
/// axis.
///
/// Inputs: x F32[..., K], weight F32[K], and optionally bias F32[K]. Output as x.
public struct LayerNorm: Operator {
    public static let name = "layer_norm"
    public static let inputs: [OperatorInput] = [.x, .weight, .optionalBias]
    /// The term that keeps the divisor from 0.
    public var epsilon: Double

    /// Creates the operator.
    public init(epsilon: Double) { self.epsilon = epsilon }
    public init(attributes: Attributes) throws { epsilon = try attributes.number("epsilon") }
    public var attributes: Attributes { ["epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 1...8, "x")
        for (input, what) in zip(inputs.dropFirst(), ["weight", "bias"]) {
            try input.require(rank: 1...1, what)
            try requireEqual(input.dimensions[0], inputs[0].dimensions[inputs[0].rank - 1], what)
        }
        return [inputs[0]]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, weight, shape) = (inputs[0].floats, inputs[1].floats, inputs[0].shape)
        let bias = inputs.named("bias", of: self)?.floats ?? [Float](repeating: 0, count: weight.count)
        let width = weight.count
        let result = Reference.rows(width == 0 ? 0 : shape.count / width, width: width) { row, result in
            let start = row * width
            var (sum, squares) = (0.0, 0.0)
            for column in 0..<width { sum += Double(x[start + column]) }
            let mean = sum / Double(width)
            for column in 0..<width {
                let difference = Double(x[start + column]) - mean
                squares += difference * difference
            }
            let factor = 1 / (squares / Double(width) + epsilon).squareRoot()
            for column in 0..<width {
                let normal = (Double(x[start + column]) - mean) * factor
                result[column] = Float(normal * Double(weight[column]) + Double(bias[column]))
            }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let mean = Reduce(.mean, axes: [builder.type(of: inputs[0]).rank - 1])
        let centred = try builder.apply(Subtract(), [inputs[0], try builder.apply(mean, [inputs[0]])])
        let variance = try builder.apply(mean, [try builder.apply(Multiply(), [centred, centred])])
        let shifted = try builder.apply(Add(), [variance, builder.literal(Float(epsilon))])
        let normal = try builder.apply(Multiply(), [centred, try builder.apply(Rsqrt(), [shifted])])
        let scaled = try builder.apply(Multiply(), [normal, inputs[1]])
        guard let bias = inputs.named("bias", of: self, in: builder) else { return [scaled] }
        return [try builder.apply(Add(), [scaled, bias])]
    }
}
