import AccelPlatform
public import AccelTensors

/// A long short-term memory layer over a sequence, in one direction (Hochreiter and Schmidhuber, 1997), from an initial
/// state of zeros.
///
/// ```text
/// i, f, g, o = the four blocks of  gates[t] + h * stateWeight^T + bias
/// c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
/// h' = sigmoid(o) * tanh(c') = output[t]
/// ```
///
/// The projection of the inputs is a `Linear` before it, so that it is one product for all steps.
///
/// Inputs: gates F32[batch, T, 4H], stateWeight F32[4H, H]; optionally bias F32[4H]; and last and optionally, the number
/// of valid steps, I64[] or I64[batch]. Output: F32[batch, T, H].
///
/// If the number of valid steps is given, the output is 0 after them, and in reverse the last valid step is the first:
/// padding does not change the result for the steps before it.
public struct LSTM: Operator {
    public static let name = "lstm"
    public static let inputs: [OperatorInput] = [
        OperatorInput("gates"), OperatorInput("state_weight"), .optionalBias,
        OperatorInput("length", .only(.int64), presence: .optional),
    ]
    /// Steps are taken from the last valid one to the first.
    public var reverses: Bool

    /// Creates the operator for one direction.
    public init(reverses: Bool = false) { self.reverses = reverses }
    public init(attributes: Attributes) throws { reverses = try attributes.flag("reverses") }
    public var attributes: Attributes { ["reverses": .flag(reverses)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (gates, weight) = (inputs[0], inputs[1])
        try gates.require(rank: 3...3, "gates")
        try weight.require(rank: 2...2, "state weight")
        let (rows, width) = (weight.dimensions[0], weight.dimensions[1])
        try requireEqual(rows, width * 4, "rows of the state weight")
        try requireEqual(gates.dimensions[2], rows, "columns of the gates")
        if let bias = inputs.named("bias", of: self) {
            try bias.require(rank: 1...1, "bias")
            try requireEqual(bias.dimensions[0], rows, "bias")
        }
        if let length = inputs.named("length", of: self) {
            guard length.rank == 0 || length.dimensions == [gates.dimensions[0]] else {
                throw OperatorError("valid steps: expected one number, or one per batch element, found \(length)")
            }
        }
        return [TensorType(.float32, [gates.dimensions[0], gates.dimensions[1], width])]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (batch, steps) = (inputs[0].shape.dimensions[0], inputs[0].shape.dimensions[1])
        let width = inputs[1].shape.dimensions[1]
        let (gates, weight) = (inputs[0].floats, inputs[1].floats)
        let bias = inputs.named("bias", of: self)?.floats
        var valid = [Int](repeating: steps, count: batch)
        if let numbers = inputs.named("length", of: self)?.integers {
            for number in numbers where number < 0 || number > steps {
                throw OperatorError("expected 0 to \(steps) valid steps, found \(number)")
            }
            valid = (0..<batch).map { Int(numbers[numbers.count == 1 ? 0 : $0]) }
        }
        let result = Reference.rows(batch, width: steps * width) { [valid, reverses] row, result in
            var hidden = [Float](repeating: 0, count: width)
            var cell = [Double](repeating: 0, count: width)
            for index in 0..<valid[row] {
                let step = reverses ? valid[row] - 1 - index : index
                let sums = (0..<4 * width).map { gate in
                    let product = hidden.withUnsafeBufferPointer { hidden in
                        weight.withUnsafeBufferPointer { Reference.dot(hidden, 0, $0, gate * width, width) }
                    }
                    return Double(gates[(row * steps + step) * 4 * width + gate]) + product
                        + (bias.map { Double($0[gate]) } ?? 0)
                }
                for unit in 0..<width {
                    let kept = Sigmoid().apply(sums[width + unit]) * cell[unit]
                    cell[unit] = kept + Sigmoid().apply(sums[unit]) * AccelPlatform.tanh(sums[2 * width + unit])
                    let value = Sigmoid().apply(sums[3 * width + unit]) * AccelPlatform.tanh(cell[unit])
                    hidden[unit] = Float(value)
                    result[step * width + unit] = hidden[unit]
                }
            }
        }
        return [HostTensor(result, [batch, steps, width])]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        saturatingProduct(inputs[0].dimensions + [inputs[1].dimensions[1]])
    }
}
