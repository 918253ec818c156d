import AccelPlatform

/// `ln(x)`, elementwise.
public struct Log: PlainUnaryOperator {
    public static let name = "log"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.log(x) }
}
