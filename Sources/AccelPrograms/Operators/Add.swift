/// `x + y`, broadcasting.
public struct Add: BinaryOperator {
    public static let name = "add"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x + y }
}
