import AccelPlatform

/// `tanh(x)`, elementwise.
public struct Tanh: PlainUnaryOperator {
    public static let name = "tanh"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.tanh(x) }
}
