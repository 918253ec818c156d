import AccelPlatform

/// `atan2(x, y)`: the angle in radians of the point whose ordinate is the first input and whose abscissa is the second,
/// broadcasting.
public struct Atan2: BinaryOperator {
    public static let name = "atan2"
    public static let rounding = ResultRounding.elementwise
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { AccelPlatform.atan2(x, y) }
}
