import AccelPlatform

/// `x * sigmoid(x)` (swish), elementwise.
public struct Silu: PlainUnaryOperator {
    public static let name = "silu"
    public init() {}
    public func apply(_ x: Double) -> Double { x / (1 + AccelPlatform.exp(-x)) }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        [try builder.apply(Multiply(), [inputs[0], try builder.apply(Sigmoid(), inputs)])]
    }
}
