import AccelPlatform

/// `x` for x > 0, else `alpha * (e^x - 1)` (Clevert et al., "Exponential Linear Units", 2015); elementwise.
public struct Elu: UnaryOperator {
    public static let name = "elu"
    /// The factor of the negative part.
    public var alpha: Double

    /// Creates the operator with the factor of the negative part.
    public init(alpha: Double) { self.alpha = alpha }
    public init(attributes: Attributes) throws { alpha = try attributes.number("alpha") }
    public var attributes: Attributes { ["alpha": .number(alpha)] }
    public func apply(_ x: Double) -> Double { x > 0 ? x : alpha * expm1(x) }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let zero = builder.literal(0)
        let power = try builder.apply(Exp(), [try builder.apply(Minimum(), [inputs[0], zero])])
        let below = try builder.apply(Subtract(), [power, builder.literal(1)])
        let scaled = try builder.apply(Multiply(), [below, builder.literal(Float(alpha))])
        return [try builder.apply(Add(), [try builder.apply(Maximum(), [inputs[0], zero]), scaled])]
    }
}
