/// `min(x, y)`, broadcasting. NaN if either is NaN.
public struct Minimum: BinaryOperator {
    public static let name = "minimum"
    public init() {}
    public func apply(_ x: Double, _ y: Double) -> Double { x < y || x.isNaN ? x : y }
}
