/// `sqrt(x)`, elementwise.
public struct Sqrt: PlainUnaryOperator {
    public static let name = "sqrt"
    public static let rounding = ResultRounding.exact
    public init() {}
    public func apply(_ x: Double) -> Double { x.squareRoot() }
}
