public import AccelTensors

/// `y[..., n] = sum_k q(x)[..., k] * w[n, k] + bias[n]`, then an activation: the linear operator with x rounded. Either each row
/// of x is rounded to 8 bits by `RowRounding`, to its own range or to one that is fixed, and w is the weight; or both x and the
/// weight are rounded to bfloat16. Where the weight is stored as integers, kernels multiply rows of 8 bits as integers.
///
/// Inputs: x F32[..., K], weight F32[N, K], and optionally bias F32[N]. Output: F32[..., N].
public struct QuantizedLinear: LinearOperator, StreamingOperator {
    /// How the factors are rounded.
    public enum Rounding: Hashable, Sendable {
        /// Each row of x to 8 bits, in a range of its own.
        case rows
        /// Each row of x to 8 bits, in one range for all rows.
        case range(RowRounding)
        /// Elements of x and of the weight to bfloat16, to nearest even.
        case bfloat16
    }

    public static let name = "quantized_linear"
    public static let version = 2
    public static let inputs = Linear.inputs
    public var activation: Activation
    /// How the factors are rounded.
    public var rounding: Rounding

    /// Creates the operator.
    public init(activation: Activation = .none, rounding: Rounding = .rows) {
        (self.activation, self.rounding) = (activation, rounding)
    }

    /// Creates the operator for rows of 8 bits.
    /// - Parameter range: that of all rows; nil: each row has its own.
    public init(activation: Activation = .none, range: RowRounding?) {
        self.init(activation: activation, rounding: range.map { .range($0) } ?? .rows)
    }

    /// The range that all rows are rounded to; nil: they have none, or each has its own.
    public var range: RowRounding? {
        guard case .range(let range) = rounding else { return nil }
        return range
    }

    private static let (scale, lowest, numbers, bfloat16) = ("scale", "lowest", "numbers", "bfloat16")

    public init(attributes: Attributes) throws {
        self.init(activation: try Linear(attributes: attributes).activation)
        let hasRange = attributes[Self.scale] != nil || attributes[Self.lowest] != nil
        if attributes[Self.numbers] != nil {
            guard try attributes.word(Self.numbers) == Self.bfloat16, !hasRange else {
                throw OperatorError("attribute numbers: expected bfloat16, without scale and lowest")
            }
            rounding = .bfloat16
        }
        guard hasRange else { return }
        let (scale, lowest) = (try attributes.number(Self.scale), try attributes.integer(Self.lowest))
        guard let range = Float(exactly: scale).flatMap({ RowRounding(scale: $0, lowest: lowest) }) else {
            throw OperatorError(
                "attributes scale, lowest: expected a float32 above 0 and a step from -255 to 0, found \(scale), \(lowest)"
            )
        }
        rounding = .range(range)
    }
    public var attributes: Attributes {
        var attributes = Linear(activation: activation).attributes
        switch rounding {
        case .rows: break
        case .range(let range):
            attributes[Self.scale] = .number(Double(range.scale))
            attributes[Self.lowest] = .integer(range.lowest)
        case .bfloat16: attributes[Self.numbers] = .word(Self.bfloat16)
        }
        return attributes
    }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Linear(activation: activation).outputTypes(inputs)
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        try evaluate(streaming: inputs.map { .tensor($0) })
    }

    package func evaluate(streaming operands: [ReferenceOperand]) throws -> [HostTensor] {
        var rounded = operands
        if rounding == .bfloat16 {
            for index in 0..<2 { rounded[index] = operands[index].roundedToBFloat16 }
        } else {
            let x = operands[0].tensor
            let steps = RowRounding.rounding(x.floats, width: x.shape.dimensions.last ?? 1, to: range)
            rounded[0] = .tensor(HostTensor(steps, x.shape))
        }
        return try Linear(activation: activation).evaluate(streaming: rounded)
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        guard let operation = activation.operation else { return nil }
        return [try builder.apply(operation, [try builder.apply(QuantizedLinear(rounding: rounding), inputs)])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int { Linear().multiplyAdds(inputs) }
}
