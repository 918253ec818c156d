import AccelPlatform

/// `erf(x)`, elementwise.
public struct Erf: PlainUnaryOperator {
    public static let name = "erf"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.erf(x) }
}
