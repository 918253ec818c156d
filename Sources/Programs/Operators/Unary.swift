import Foundation
import Tensors

/// An operator that maps each element of one float32 tensor.
public protocol UnaryOperator: Operator {
    /// The reference meaning, computed in float64 and rounded once.
    func apply(_ x: Double) -> Double
}

extension UnaryOperator {
    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try inputs.require(1...1)
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        [HostTensor(inputs[0].floats.map { Float(apply(Double($0))) }, inputs[0].shape)]
    }
}

/// A unary operator without attributes.
public protocol PlainUnaryOperator: UnaryOperator {
    init()
}

extension PlainUnaryOperator {
    public init(attributes: Attributes) throws { self.init() }
    public var attributes: Attributes { [:] }
}

/// max(x, 0)
public struct Relu: PlainUnaryOperator {
    public static let name = "relu"
    public init() {}
    public func apply(_ x: Double) -> Double { x > 0 ? x : (x.isNaN ? x : 0) }
}

public struct Tanh: PlainUnaryOperator {
    public static let name = "tanh"
    public init() {}
    public func apply(_ x: Double) -> Double { Foundation.tanh(x) }
}

/// 1 / (1 + exp(-x))
public struct Sigmoid: PlainUnaryOperator {
    public static let name = "sigmoid"
    public init() {}
    public func apply(_ x: Double) -> Double { 1 / (1 + Foundation.exp(-x)) }
}

/// x * sigmoid(x)
public struct Silu: PlainUnaryOperator {
    public static let name = "silu"
    public init() {}
    public func apply(_ x: Double) -> Double { x / (1 + Foundation.exp(-x)) }
}
