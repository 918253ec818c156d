import AccelPlatform

/// `x^y`, broadcasting.
public struct Power: BinaryOperator {
    public static let name = "power"
    public static let rounding = ResultRounding.elementwise
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { AccelPlatform.pow(x, y) }
}
