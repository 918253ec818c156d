import AccelPlatform
public import AccelTensors

/// One time step of a long short-term memory layer (Hochreiter and Schmidhuber, 1997).
///
/// ```text
/// i, f, g, o = the four blocks of rows of  x * inputWeight^T + inputBias + h * stateWeight^T + stateBias
/// c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
/// h' = sigmoid(o) * tanh(c')
/// ```
///
/// Inputs: x F32[batch, K], state F32[2, batch, H] (h, then c), inputWeight F32[4H, K], stateWeight F32[4H, H], and
/// optionally both of inputBias and stateBias F32[4H]. Output: the new state F32[2, batch, H].
public struct LSTMCell: Operator {
    public static let name = "lstm_cell"
    public static let inputs: [OperatorInput] = [
        .x, OperatorInput("state"), OperatorInput("input_weight"), OperatorInput("state_weight"),
        OperatorInput("input_bias", presence: .optional), OperatorInput("state_bias", presence: .with("input_bias")),
    ]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let ranks = [2, 3, 2, 2, 1, 1]
        for (input, (rank, what)) in zip(
            inputs, zip(ranks, ["x", "state", "input weight", "state weight", "input bias", "state bias"]))
        {
            try input.require(rank: rank...rank, what)
        }
        let (x, state) = (inputs[0], inputs[1])
        let (width, gates) = (state.dimensions[2], state.dimensions[2] * 4)
        try requireEqual(state.dimensions[0], 2, "halves of the state")
        try requireEqual(state.dimensions[1], x.dimensions[0], "batch of the state")
        for (index, columns) in [(2, x.dimensions[1]), (3, width)] {
            try requireEqual(inputs[index].dimensions[0], gates, "rows of the weight")
            try requireEqual(inputs[index].dimensions[1], columns, "columns of the weight")
        }
        for bias in inputs.dropFirst(4) { try requireEqual(bias.dimensions[0], gates, "bias") }
        return [state]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (batch, columns, width) = (
            inputs[0].shape.dimensions[0], inputs[0].shape.dimensions[1], inputs[1].shape.dimensions[2]
        )
        let (x, state, inputWeight, stateWeight) = (
            inputs[0].floats, inputs[1].floats, inputs[2].floats, inputs[3].floats
        )
        let biases = inputs.dropFirst(4).map(\.floats)
        func gate(_ number: Int, _ row: Int, _ unit: Int) -> Double {
            let index = number * width + unit
            return biases.reduce(0) { $0 + Double($1[index]) }
                + x.withUnsafeBufferPointer { x in
                    inputWeight.withUnsafeBufferPointer {
                        Reference.dot(x, row * columns, $0, index * columns, columns)
                    }
                }
                + state.withUnsafeBufferPointer { state in
                    stateWeight.withUnsafeBufferPointer {
                        Reference.dot(state, row * width, $0, index * width, width)
                    }
                }
        }
        var result = state
        for row in 0..<batch {
            for unit in 0..<width {
                let element = row * width + unit
                let kept = Sigmoid().apply(gate(1, row, unit)) * Double(state[batch * width + element])
                let cell = kept + Sigmoid().apply(gate(0, row, unit)) * AccelPlatform.tanh(gate(2, row, unit))
                result[batch * width + element] = Float(cell)
                result[element] = Float(Sigmoid().apply(gate(3, row, unit)) * AccelPlatform.tanh(cell))
            }
        }
        return [HostTensor(result, inputs[1].shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let dimensions = builder.type(of: inputs[1]).dimensions
        let (batch, width) = (dimensions[1], dimensions[2])
        func half(_ index: Dimension) throws -> Value {
            let part = try builder.apply(Slice(begin: [index, 0, 0], sizes: [1, batch, width]), [inputs[1]])
            return try builder.apply(Reshape(to: [batch, width]), [part])
        }
        func linear(_ x: Value, _ kind: String) throws -> Value {
            let names = ["\(kind)_weight", "\(kind)_bias"]
            return try builder.apply(Linear(), [x] + names.compactMap { inputs.named($0, of: self, in: builder) })
        }
        let sum = try builder.apply(Add(), [try linear(inputs[0], "input"), try linear(try half(0), "state")])
        func gate(_ index: Int, _ activation: any Operator) throws -> Value {
            let part = try builder.apply(Slice(begin: [0, width * .fixed(index)], sizes: [batch, width]), [sum])
            return try builder.apply(activation, [part])
        }
        let kept = try builder.apply(Multiply(), [try gate(1, Sigmoid()), try half(1)])
        let added = try builder.apply(Multiply(), [try gate(0, Sigmoid()), try gate(2, Tanh())])
        let cell = try builder.apply(Add(), [kept, added])
        let hidden = try builder.apply(Multiply(), [try gate(3, Sigmoid()), try builder.apply(Tanh(), [cell])])
        let halves = try [hidden, cell].map { try builder.apply(Reshape(to: [1, batch, width]), [$0]) }
        return [try builder.apply(Concat(axis: 0), halves)]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        let columns = inputs[2].dimensions[1] + inputs[3].dimensions[1]
        return saturatingProduct([inputs[0].dimensions[0], inputs[2].dimensions[0], columns])
    }
}
