import AccelPlatform
import AccelTensors

/// `x + sin(alpha * x)^2 / (alpha + epsilon)` (Ziyin et al., "Neural Networks Fail to Learn Periodic Functions", 2020):
/// a periodic activation.
///
/// Inputs: x F32[...], alpha F32 of dimensions that broadcast to those of x, such as [1, channels, 1]. Output as x.
public struct Snake: Operator {
    public static let name = "snake"
    public static let rounding = ResultRounding.elementwise
    public static let inputs: [OperatorInput] = [.x, OperatorInput("alpha")]
    /// The term that keeps the divisor from 0.
    public var epsilon: Double

    /// Creates the operator.
    public init(epsilon: Double = 0) { self.epsilon = epsilon }
    public init(attributes: Attributes) throws { epsilon = try attributes.number("epsilon") }
    public var attributes: Attributes { ["epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        guard try broadcast(inputs.map(\.dimensions)) == inputs[0].dimensions else {
            throw OperatorError("alpha \(inputs[1]) does not broadcast to \(inputs[0])")
        }
        return [inputs[0]]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, shape) = (inputs[0].floats, inputs[0].shape)
        let alpha = inputs[1].expanded(to: shape).floats
        let width = shape.dimensions.last ?? 1
        let result = Reference.rows(width == 0 ? 0 : shape.count / width, width: width) { row, result in
            for column in 0..<width {
                let (x, alpha) = (Double(x[row * width + column]), Double(alpha[row * width + column]))
                let wave = AccelPlatform.sin(alpha * x)
                result[column] = Float(x + wave * wave / (alpha + epsilon))
            }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let wave = try builder.apply(Sin(), [try builder.apply(Multiply(), [inputs[1], inputs[0]])])
        let square = try builder.apply(Multiply(), [wave, wave])
        let divisor = try builder.apply(Add(), [inputs[1], builder.literal(Float(epsilon))])
        return [try builder.apply(Add(), [inputs[0], try builder.apply(Divide(), [square, divisor])])]
    }
}
