public import AccelTensors

/// A product of x with the transpose of a weight, plus a bias, with a fused activation.
public protocol LinearOperator: Operator {
    /// The function applied to each element of the result; `none` unless `FuseActivations` has fused one.
    var activation: Activation { get set }
}

/// `y[..., n] = sum_k x[..., k] * weight[n, k] + bias[n]`, then an activation.
///
/// Inputs: x F32[..., K], weight F32[N, K], and optionally bias F32[N]. Output: F32[..., N].
public struct Linear: LinearOperator {
    public static let name = "linear"
    public static let inputs: [OperatorInput] = [.x, .weight, .optionalBias]
    public var activation: Activation

    /// Creates the operator.
    public init(activation: Activation = .none) { self.activation = activation }

    public init(attributes: Attributes) throws {
        activation = attributes["activation"] == nil ? .none : try attributes.choice("activation", as: Activation.self)
    }
    public var attributes: Attributes { activation == .none ? [:] : ["activation": .word(activation.rawValue)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (x, weight) = (inputs[0], inputs[1])
        try x.require(rank: 1...8, "x")
        try weight.require(rank: 2...2, "weight")
        try requireEqual(weight.dimensions[1], x.dimensions[x.rank - 1], "columns of the weight")
        if let bias = inputs.named("bias", of: self) {
            try bias.require(rank: 1...1, "bias")
            try requireEqual(bias.dimensions[0], weight.dimensions[0], "bias")
        }
        return [TensorType(.float32, x.dimensions.dropLast() + [weight.dimensions[0]])]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (rows, columns) = (inputs[1].shape.dimensions[0], inputs[1].shape.dimensions[1])
        let shape = Shape(inputs[0].shape.dimensions.dropLast() + [rows])
        let products = Reference.products(
            inputs[0].floats, inputs[1].floats, bias: inputs.named("bias", of: self)?.floats,
            count: shape.count / max(rows, 1), rows: rows, columns: columns)
        let sums = HostTensor(products, shape)
        return try activation.operation?.evaluate([sums]) ?? [sums]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        guard let operation = activation.operation else { return nil }
        return [try builder.apply(operation, [try builder.apply(Linear(), inputs)])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        saturatingProduct(inputs[0].dimensions + [inputs[1].dimensions[0]])
    }
}
