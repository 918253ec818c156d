/// The same values in contiguous memory. Planners put it before kernels that need that.
public struct Copy: Operator {
    public static let name = "copy"
    public static let inputs: [OperatorInput] = [OperatorInput("x", .any)]
    public var attributes: Attributes { [:] }

    public init() {}
    public init(attributes: Attributes) throws {}

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        return inputs
    }
    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { inputs }
}
