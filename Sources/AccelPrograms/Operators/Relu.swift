/// `max(x, 0)`, elementwise. NaN stays NaN.
public struct Relu: PlainUnaryOperator {
    public static let name = "relu"
    public static let rounding = ResultRounding.exact
    public init() {}
    public func apply(_ x: Double) -> Double { x < 0 ? 0 : x }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        [try builder.apply(Maximum(), [inputs[0], builder.literal(0)])]
    }
}
