/// `x - y`, broadcasting.
public struct Subtract: BinaryOperator {
    public static let name = "subtract"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x - y }
}
