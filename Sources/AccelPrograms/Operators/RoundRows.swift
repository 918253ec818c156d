import AccelTensors

/// The rows of the last axis rounded to 8-bit codes with a scale each. It writes caches of bytes.
///
/// A row's scale is `max|x| / 127`, at least 2^-126, and 0 for a row of zeros. A code is `x * (1 / scale)`, rounded to nearest
/// with ties to even, from -127 to 127. A row that is not finite gets codes of 0 and the scale NaN.
///
/// Input: x F32[..., N]. Output: I8[..., N + 4]: the codes, and then the scale as a little-endian float32.
public struct RoundRows: Operator {
    public static let name = "round_rows"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [.x]

    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let type = inputs[0].keepingRows(as: .int8)
        try type.requireByteRows("x")
        return [type]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { [inputs[0].roundingRows()] }
}
