import AccelPlatform

/// `e^x`, elementwise.
public struct Exp: PlainUnaryOperator {
    public static let name = "exp"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.exp(x) }
}
