import AccelPlatform

/// `1 / (1 + exp(-x))`, elementwise.
public struct Sigmoid: PlainUnaryOperator {
    public static let name = "sigmoid"
    public init() {}
    public func apply(_ x: Double) -> Double { 1 / (1 + AccelPlatform.exp(-x)) }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let one = builder.literal(1)
        let power = try builder.apply(Exp(), [try builder.apply(Negate(), inputs)])
        return [try builder.apply(Divide(), [one, try builder.apply(Add(), [one, power])])]
    }
}
