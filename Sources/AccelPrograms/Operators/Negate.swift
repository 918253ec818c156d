/// `-x`, elementwise.
public struct Negate: PlainUnaryOperator {
    public static let name = "negate"
    public init() {}
    public func apply(_ x: Double) -> Double { -x }
}
