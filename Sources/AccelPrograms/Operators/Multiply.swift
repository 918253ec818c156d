/// `x * y`, broadcasting.
public struct Multiply: BinaryOperator {
    public static let name = "multiply"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x * y }
}
