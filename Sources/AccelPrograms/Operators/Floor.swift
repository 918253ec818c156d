/// `floor(x)`: the largest integer that is not greater than x; elementwise.
public struct Floor: PlainUnaryOperator {
    public static let name = "floor"
    public static let rounding = ResultRounding.exact
    public init() {}
    public func apply(_ x: Double) -> Double { x.rounded(.down) }
}
