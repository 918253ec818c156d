import Foundation

/// `tanh(x)`, elementwise.
public struct Tanh: PlainUnaryOperator {
    public static let name = "tanh"
    public init() {}
    public func apply(_ x: Double) -> Double { Foundation.tanh(x) }
}
