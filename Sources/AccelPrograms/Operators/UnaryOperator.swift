import AccelTensors

/// An operator on each element of one float32 tensor.
public protocol UnaryOperator: Operator {
    /// Computes the reference result for one element, in float64; the caller rounds it once.
    func apply(_ x: Double) -> Double
}

extension UnaryOperator {
    public static var inputs: [OperatorInput] { [.x] }
    public static var rounding: ResultRounding { .elementwise }
    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        [HostTensor(Reference.mapping(inputs[0].floats) { apply($0) }, inputs[0].shape)]
    }
}

/// A unary operator without attributes.
public protocol PlainUnaryOperator: UnaryOperator {
    /// Creates the operator, which has no attributes.
    init()
}

extension PlainUnaryOperator {
    public init(attributes: Attributes) throws { self.init() }
    public var attributes: Attributes { [:] }
}
