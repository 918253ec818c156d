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
        let operands = inputs.map { $0.expanded(to: shape) }
        let (x, y) = (operands[1].floats, operands[2].floats)
        return [HostTensor(operands[0].flags.enumerated().map { $1 ? x[$0] : y[$0] }, shape)]
    }
}
