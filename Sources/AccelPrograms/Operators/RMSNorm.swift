import AccelTensors

/// Root mean square normalisation (Zhang and Sennrich, 2019): `x / sqrt(mean(x^2) + epsilon) * weight` over the last
/// axis.
///
/// Inputs: x F32[..., K], weight F32[K]. Output as x.
public struct RMSNorm: Operator {
    public static let name = "rms_norm"
    public static let inputs: [OperatorInput] = [.x, .weight]
    /// The term that keeps the divisor from 0.
    public var epsilon: Double

    /// Creates the operator.
    public init(epsilon: Double) { self.epsilon = epsilon }
    public init(attributes: Attributes) throws { epsilon = try attributes.number("epsilon") }
    public var attributes: Attributes { ["epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 1...8, "x")
        try inputs[1].require(rank: 1...1, "weight")
        try requireEqual(inputs[1].dimensions[0], inputs[0].dimensions[inputs[0].rank - 1], "weight")
        return [inputs[0]]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, weight, shape) = (inputs[0].floats, inputs[1].floats, inputs[0].shape)
        let width = weight.count
        let result = Reference.rows(width == 0 ? 0 : shape.count / width, width: width) { row, result in
            let start = row * width
            var squares = 0.0
            for column in 0..<width { squares += Double(x[start + column]) * Double(x[start + column]) }
            let factor = 1 / (squares / Double(width) + epsilon).squareRoot()
            for column in 0..<width {
                result[column] = Float(Double(x[start + column]) * factor * Double(weight[column]))
            }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let mean = Reduce(.mean, axes: [builder.type(of: inputs[0]).rank - 1])
        let squares = try builder.apply(mean, [try builder.apply(Multiply(), [inputs[0], inputs[0]])])
        let shifted = try builder.apply(Add(), [squares, builder.literal(Float(epsilon))])
        let normal = try builder.apply(Multiply(), [inputs[0], try builder.apply(Rsqrt(), [shifted])])
        return [try builder.apply(Multiply(), [normal, inputs[1]])]
    }
}
