/// A copy in contiguous memory. Planners insert it before kernels that need contiguous inputs.
public struct Copy: Operator {
    public static let name = "copy"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [OperatorInput("x", .any)]
    public var attributes: Attributes { [:] }

    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { inputs }
}
