import AccelPlatform

/// `x mod y`, the remainder with the sign of y as Python's `%`; broadcasting.
public struct Modulo: BinaryOperator {
    public static let name = "modulo"
    public static let rounding = ResultRounding.elementwise
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double {
        let rest = AccelPlatform.fmod(x, y)
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest
    }
}
