import AccelPlatform

/// The cosine of angles in radians, elementwise.
public struct Cos: PlainUnaryOperator {
    public static let name = "cos"
    public init() {}
    public func apply(_ x: Double) -> Double { AccelPlatform.cos(x) }
}
