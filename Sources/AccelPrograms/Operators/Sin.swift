import AccelPlatform

/// The sine of angles in radians, elementwise.
public struct Sin: PlainUnaryOperator {
    public static let name = "sin"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.sin(x) }
}
