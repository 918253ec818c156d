/// The largest whole number that is not larger, elementwise.
public struct Floor: PlainUnaryOperator {
    public static let name = "floor"
    public init() {}
    public func apply(_ x: Double) -> Double { x.rounded(.down) }
}
