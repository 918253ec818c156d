/// `-x`, elementwise.
public struct Negate: PlainUnaryOperator {
    public static let name = "negate"
    public static let rounding = ResultRounding.exact
    public init() {}
    public func apply(_ x: Double) -> Double { -x }
}
