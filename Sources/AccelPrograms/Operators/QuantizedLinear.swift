public import AccelTensors

/// `y[..., n] = sum_k q(x)[..., k] * weight[n, k] + bias[n]`, then an activation: the linear operator with each row of x
/// rounded to 8 bits by `RowRounding`, to its own range or to one that is fixed. Where the weight is stored as integers,
/// kernels multiply integers.
///
/// Inputs: x F32[..., K], weight F32[N, K], and optionally bias F32[N]. Output: F32[..., N].
public struct QuantizedLinear: LinearOperator, StreamingOperator {
    public static let name = "quantized_linear"
    public static let inputs = Linear.inputs
    public var activation: Activation
    /// The range of all rows; nil: each row has its own.
    public var range: RowRounding?

    /// Creates the operator.
    public init(activation: Activation = .none, range: RowRounding? = nil) {
        (self.activation, self.range) = (activation, range)
    }

    private static let (scale, lowest) = ("scale", "lowest")

    public init(attributes: Attributes) throws {
        activation = try Linear(attributes: attributes).activation
        guard attributes[Self.scale] != nil || attributes[Self.lowest] != nil else { return }
        let (scale, lowest) = (try attributes.number(Self.scale), try attributes.integer(Self.lowest))
        guard let range = Float(exactly: scale).flatMap({ RowRounding(scale: $0, lowest: lowest) }) else {
            throw OperatorError(
                "attributes scale, lowest: expected a float32 above 0 and a step from -255 to 0, found \(scale), \(lowest)"
            )
        }
        self.range = range
    }
    public var attributes: Attributes {
        var attributes = Linear(activation: activation).attributes
        if let range {
            attributes[Self.scale] = .number(Double(range.scale))
            attributes[Self.lowest] = .integer(range.lowest)
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
        let x = operands[0].tensor
        let steps = RowRounding.rounding(x.floats, width: x.shape.dimensions.last ?? 1, to: range)
        let rounded = HostTensor(steps, x.shape)
        return try Linear(activation: activation).evaluate(streaming: [.tensor(rounded)] + operands.dropFirst())
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        guard let operation = activation.operation else { return nil }
        return [try builder.apply(operation, [try builder.apply(QuantizedLinear(range: range), inputs)])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int { Linear().multiplyAdds(inputs) }
}
