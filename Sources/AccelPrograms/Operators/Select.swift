import AccelTensors

/// `condition ? x : y`, elementwise, broadcasting. Inputs: condition BOOL, x F32, y F32.
public struct Select: Operator {
    public static let name = "select"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [OperatorInput("condition", .only(.bool)), .x, .y]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return [TensorType(.float32, try broadcast(inputs.map(\.dimensions)))]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = try broadcastShape(inputs)
        let (condition, x, y) = (inputs[0], inputs[1], inputs[2])
        let own = condition.shape == shape ? condition : condition.expanded(to: shape)
        var rest = own.flags.makeIterator()
        let floats = shape.broadcasting(x.floats, x.shape, y.floats, y.shape) { (rest.next() ?? false) ? $0 : $1 }
        return [HostTensor(floats, shape)]
    }
}
