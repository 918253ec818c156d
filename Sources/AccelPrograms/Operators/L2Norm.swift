import AccelTensors

/// `x / max(|x|, epsilon)` over the last axis of a float32 tensor, where |x| is the Euclidean norm.
public struct L2Norm: Operator {
    public static let name = "l2_norm"
    public static let inputs: [OperatorInput] = [.x]
    /// The smallest divisor.
    public var epsilon: Double

    /// Creates the operator.
    public init(epsilon: Double = 1e-12) { self.epsilon = epsilon }
    public init(attributes: Attributes) throws { epsilon = try attributes.number("epsilon") }
    public var attributes: Attributes { ["epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 1...8, "x")
        return inputs
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, shape) = (inputs[0].floats, inputs[0].shape)
        let width = shape.dimensions[shape.rank - 1]
        let result = Reference.rows(width == 0 ? 0 : shape.count / width, width: width) { row, result in
            let start = row * width
            var squares = 0.0
            for column in 0..<width { squares += Double(x[start + column]) * Double(x[start + column]) }
            let length = max(squares.squareRoot(), epsilon)
            for column in 0..<width { result[column] = Float(Double(x[start + column]) / length) }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let squares = try builder.apply(Multiply(), [inputs[0], inputs[0]])
        let sum = try builder.apply(Reduce(.sum, axes: [builder.type(of: squares).rank - 1]), [squares])
        let length = try builder.apply(
            Maximum(), [try builder.apply(Sqrt(), [sum]), builder.literal(Float(epsilon))])
        return [try builder.apply(Divide(), [inputs[0], length])]
    }
}
