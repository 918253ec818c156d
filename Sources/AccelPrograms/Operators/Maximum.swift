/// `max(x, y)`, broadcasting. NaN if either is NaN.
public struct Maximum: BinaryOperator {
    public static let name = "maximum"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x > y || x.isNaN ? x : y }
}
