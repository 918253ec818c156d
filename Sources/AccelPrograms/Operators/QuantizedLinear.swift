public import AccelTensors

/// `y[..., n] = sum_k q(x)[..., k] * weight[n, k] + bias[n]`, then an activation: the linear operator with each row of x
/// rounded to 8 bits by `RowRounding`. Where the weight is stored as integers, kernels multiply integers.
///
/// Inputs: x F32[..., K], weight F32[N, K], and optionally bias F32[N]. Output: F32[..., N].
public struct QuantizedLinear: LinearOperator, StreamingOperator {
    public static let name = "quantized_linear"
    public static let inputs = Linear.inputs
    public var activation: Activation

    /// Creates the operator.
    public init(activation: Activation = .none) { self.activation = activation }

    public init(attributes: Attributes) throws { try self.init(activation: Linear(attributes: attributes).activation) }
    public var attributes: Attributes { Linear(activation: activation).attributes }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Linear(activation: activation).outputTypes(inputs)
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        try evaluate(streaming: inputs.map { .tensor($0) })
    }

    package func evaluate(streaming operands: [ReferenceOperand]) throws -> [HostTensor] {
        let x = operands[0].tensor
        let rounded = HostTensor(RowRounding.rounding(x.floats, width: x.shape.dimensions.last ?? 1), x.shape)
        return try Linear(activation: activation).evaluate(streaming: [.tensor(rounded)] + operands.dropFirst())
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        guard let operation = activation.operation else { return nil }
        return [try builder.apply(operation, [try builder.apply(QuantizedLinear(), inputs)])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int { Linear().multiplyAdds(inputs) }
}
