/// A copy in contiguous memory. The planner inserts it before kernels that need contiguous inputs.
public struct Copy: Operator {
    public static let name = "copy"
    public static let readsStrided = true
    public var attributes: Attributes { [:] }

    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        guard inputs.count == 1 else { throw OperatorError("expected 1 input, found \(inputs.count)") }
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { inputs }
}
