/// `x / y`, broadcasting.
public struct Divide: BinaryOperator {
    public static let name = "divide"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x / y }
}
