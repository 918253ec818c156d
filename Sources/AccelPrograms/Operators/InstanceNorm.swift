import AccelTensors

/// Instance normalisation: `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with mean and variance over the
/// positions of each channel.
///
/// Inputs: x F32[batch, channels, S...]; optionally weight and bias, both F32[channels] or both F32[batch, channels]; and
/// last, for x of rank 3 only and optionally, the number of valid positions, I64[] or I64[batch]. Output as x.
///
/// If the number of valid positions is given, mean and variance are those of the valid positions, and the output is 0
/// after them: padding does not change the result for the positions before it.
public struct InstanceNorm: Operator {
    public static let name = "instance_norm"
    public static let inputs: [OperatorInput] = [
        .x, OperatorInput("weight", presence: .optional), OperatorInput("bias", presence: .with("weight")),
        OperatorInput("length", .only(.int64), presence: .optional),
    ]
    /// The term that keeps the divisor from 0.
    public var epsilon: Double

    /// Creates the operator.
    public init(epsilon: Double) { self.epsilon = epsilon }
    public init(attributes: Attributes) throws { epsilon = try attributes.number("epsilon") }
    public var attributes: Attributes { ["epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let x = inputs[0]
        try x.require(rank: 3...8, "x")
        if let weight = inputs.named("weight", of: self), let bias = inputs.named("bias", of: self) {
            guard weight == bias else {
                throw OperatorError("bias: expected \(weight), the type of the weight, found \(bias)")
            }
            try weight.require(rank: 1...2, "weight")
            guard weight.dimensions == Array(x.dimensions[(2 - weight.rank)..<2]) else {
                throw OperatorError("weight: \(weight) does not fit the channels of \(x)")
            }
        }
        if let length = inputs.named("length", of: self) {
            try x.require(rank: 3...3, "x with a number of valid positions")
            guard length.rank == 0 || length.dimensions == [x.dimensions[0]] else {
                throw OperatorError(
                    "valid positions: expected one number, or one per batch element, found \(length)")
            }
        }
        return [x]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, shape) = (inputs[0].floats, inputs[0].shape)
        let (batch, channels) = (shape.dimensions[0], shape.dimensions[1])
        let width = shape.dimensions[2...].reduce(1, *)
        var valid = [Int](repeating: width, count: batch)
        if let numbers = inputs.named("length", of: self)?.integers {
            for number in numbers where number < 1 || number > width {
                throw OperatorError("expected 1 to \(width) valid positions, found \(number)")
            }
            valid = (0..<batch).map { Int(numbers[numbers.count == 1 ? 0 : $0]) }
        }
        let scales = ["weight", "bias"].compactMap {
            inputs.named($0, of: self)?.expanded(to: [batch, channels]).floats
        }
        let result = Reference.rows(width == 0 ? 0 : batch * channels, width: width) { [valid] row, result in
            let (start, count) = (row * width, valid[row / channels])
            let moments = Moments(x[start..<start + count])
            let factor = moments.factor(epsilon: epsilon)
            let (weight, bias) = scales.isEmpty ? (1, 0) : (Double(scales[0][row]), Double(scales[1][row]))
            for index in 0..<count {
                result[index] = Float((Double(x[start + index]) - moments.mean) * factor * weight + bias)
            }
        }
        return [HostTensor(result, shape)]
    }

    /// Returns nil if a number of valid positions is given while the dimensions are free: the mask needs a table of
    /// positions.
    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let x = builder.type(of: inputs[0])
        let (batch, channels) = (x.dimensions[0], x.dimensions[1])
        var normal: Value
        var mask: Value?
        if let length = inputs.named("length", of: self, in: builder) {
            guard let width = x.dimensions[2].value else { return nil }
            let positions = HostTensor((0..<width).map { Int64($0) }, [width])
            let dimensions: [Dimension] = builder.type(of: length).rank == 0 ? [1, 1, 1] : [batch, 1, 1]
            let count = try builder.apply(Reshape(to: dimensions), [length])
            let isValid = try builder.apply(Compare(.less), [builder.literal(positions, name: "positions"), count])
            let zero = builder.literal(0)
            let divisor = try builder.apply(Cast(to: .float32), [count])
            func mean(_ value: Value) throws -> Value {
                // Selected, not multiplied by a mask: the padding may hold infinities.
                let valid = try builder.apply(Select(), [isValid, value, zero])
                let sum = try builder.apply(Reduce(.sum, axes: [2]), [valid])
                return try builder.apply(Divide(), [sum, divisor])
            }
            let centred = try builder.apply(Subtract(), [inputs[0], try mean(inputs[0])])
            let variance = try mean(try builder.apply(Multiply(), [centred, centred]))
            let shifted = try builder.apply(Add(), [variance, builder.literal(Float(epsilon))])
            normal = try builder.apply(Multiply(), [centred, try builder.apply(Rsqrt(), [shifted])])
            mask = isValid
        } else {
            normal = try builder.normalised(inputs[0], over: Array(2..<x.rank), epsilon: epsilon)
        }
        if let scale = inputs.named("weight", of: self, in: builder),
            let shift = inputs.named("bias", of: self, in: builder)
        {
            let rank = builder.type(of: scale).rank
            let dimensions = (rank == 2 ? [batch] : [1]) + [channels] + x.dimensions[2...].map { _ in Dimension(1) }
            let (weight, bias) = (
                try builder.apply(Reshape(to: dimensions), [scale]),
                try builder.apply(Reshape(to: dimensions), [shift])
            )
            normal = try builder.apply(Add(), [try builder.apply(Multiply(), [normal, weight]), bias])
        }
        return [try mask.map { try builder.apply(Select(), [$0, normal, builder.literal(0)]) } ?? normal]
    }
}
