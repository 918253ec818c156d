/// `1 / sqrt(x)`, elementwise.
public struct Rsqrt: PlainUnaryOperator {
    public static let name = "rsqrt"
    public init() {}
    public func apply(_ x: Double) -> Double { 1 / x.squareRoot() }
}
