import AccelTensors

/// The values of rows of 8-bit codes, as `RoundRows` makes them: each code times the scale of its row.
///
/// Input: x I8[..., N + 4]. Output: F32[..., N].
public struct WidenRows: Operator {
    public static let name = "widen_rows"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [OperatorInput("x", .only(.int8))]

    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].requireByteRows("x")
        return [inputs[0].keepingRows(as: .float32)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { [inputs[0].wideningRows()] }
}
