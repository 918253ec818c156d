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
        try evaluate(streaming: inputs.map(ReferenceOperand.tensor))
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        guard let operation = activation.operation else { return nil }
        return [try builder.apply(operation, [try builder.apply(Linear(), inputs)])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        saturatingProduct(inputs[0].dimensions + [inputs[1].dimensions[0]])
    }
}

extension Linear: StreamingOperator {
    package func evaluate(streaming operands: [ReferenceOperand]) throws -> [HostTensor] {
        [try evaluate(operands, rows: nil)]
    }

    /// Computes only some elements of the result's last axis, which are products with these rows of the weight.
    package func evaluate(_ operands: [ReferenceOperand], rows: [Int]) throws -> HostTensor {
        try evaluate(operands, rows: .some(rows))
    }

    private func evaluate(_ operands: [ReferenceOperand], rows: [Int]?) throws -> HostTensor {
        let weight =
            switch operands[1] {
            case .tensor(let tensor): ReferenceRows(tensor.floats, tensor.shape)
            case .rows(let rows): rows
            }
        let shape = operands[0].shape.dimensions.dropLast()
        let products = ReferenceProducts(
            operands[0].tensor.floats, count: shape.reduce(1, *), weight,
            bias: operands.named("bias", of: self)?.tensor.floats, rows: rows)
        let sums = HostTensor(try products.run(), Shape(shape + [rows?.count ?? weight.shape.dimensions[0]]))
        return try activation.operation?.evaluate([sums])[0] ?? sums
    }
}
