import AccelPlatform

/// The angle of the point (y, x) = (first input, second input) in radians, broadcasting.
public struct Atan2: BinaryOperator {
    public static let name = "atan2"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { AccelPlatform.atan2(x, y) }
}
