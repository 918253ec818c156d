/// The same values in contiguous memory. Planners put it before kernels that need that.
public struct Copy: Operator {
    public static let name = "copy"
    public var attributes: Attributes { [:] }

    public init() {}
    public init(attributes: Attributes) throws {}

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        guard inputs.count == 1 else { throw OperatorError("expected 1 input, found \(inputs.count)") }
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { inputs }
}
