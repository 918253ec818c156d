import AccelTensors

/// Group normalisation (Wu and He, 2018): `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with mean and
/// variance over the channels of a group and all positions.
///
/// Inputs: x F32[batch, channels, S...], weight F32[channels], bias F32[channels]. Output as x.
public struct GroupNorm: Operator {
    public static let name = "group_norm"
    public static let inputs: [OperatorInput] = [.x, .weight, OperatorInput("bias")]
    /// The number of groups of channels.
    public var groups: Int
    /// The term that keeps the divisor from 0.
    public var epsilon: Double

    /// Creates the operator.
    public init(groups: Int, epsilon: Double) {
        self.groups = groups
        self.epsilon = epsilon
    }
    public init(attributes: Attributes) throws {
        groups = try attributes.integer("groups", in: 1...1 << 20)
        epsilon = try attributes.number("epsilon")
    }
    public var attributes: Attributes { ["groups": .integer(groups), "epsilon": .number(epsilon)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 2...8, "x")
        let channels = inputs[0].dimensions[1]
        guard let number = channels.value, number % groups == 0 else {
            throw OperatorError("\(channels) channels do not split into \(groups) groups")
        }
        for (input, what) in zip(inputs.dropFirst(), ["weight", "bias"]) {
            try input.require(rank: 1...1, what)
            try requireEqual(input.dimensions[0], channels, what)
        }
        return [inputs[0]]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, weight, bias, shape) = (inputs[0].floats, inputs[1].floats, inputs[2].floats, inputs[0].shape)
        let (batch, channels) = (shape.dimensions[0], shape.dimensions[1])
        let positions = shape.dimensions[2...].reduce(1, *)
        let width = channels / groups * positions
        let result = Reference.rows(batch * groups, width: width) { row, result in
            let moments = Moments(x[row * width..<(row + 1) * width])
            let factor = moments.factor(epsilon: epsilon)
            for index in 0..<width {
                let channel = row % groups * (channels / groups) + index / positions
                let normal = (Double(x[row * width + index]) - moments.mean) * factor
                result[index] = Float(normal * Double(weight[channel]) + Double(bias[channel]))
            }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let dimensions = builder.type(of: inputs[0]).dimensions
        guard let channels = dimensions[1].value else { return nil }
        let width = (dimensions[2...].reduce(1, *)) * .fixed(channels / groups)
        let grouped = try builder.apply(Reshape(to: [dimensions[0], .fixed(groups), width]), [inputs[0]])
        let normal = try builder.normalised(grouped, over: [2], epsilon: epsilon)
        let whole = try builder.apply(Reshape(to: dimensions), [normal])
        let perChannel: [Dimension] = [dimensions[1]] + dimensions[2...].map { _ in 1 }
        let weight = try builder.apply(Reshape(to: perChannel), [inputs[1]])
        let bias = try builder.apply(Reshape(to: perChannel), [inputs[2]])
        return [try builder.apply(Add(), [try builder.apply(Multiply(), [whole, weight]), bias])]
    }
}

/// Mean and biased variance, in float64.
struct Moments {
    private(set) var mean = 0.0
    private(set) var variance = 0.0

    init(_ x: ArraySlice<Float>) {
        for value in x { mean += Double(value) }
        mean /= Double(x.count)
        for value in x { variance += (Double(value) - mean) * (Double(value) - mean) }
        variance /= Double(x.count)
    }

    func factor(epsilon: Double) -> Double { 1 / (variance + epsilon).squareRoot() }
}

extension ProgramBuilder {
    /// `(x - mean) / sqrt(variance + epsilon)` in basic operators.
    mutating func normalised(_ x: Value, over axes: [Int], epsilon: Double) throws -> Value {
        let mean = Reduce(.mean, axes: axes)
        let centred = try apply(Subtract(), [x, try apply(mean, [x])])
        let variance = try apply(mean, [try apply(Multiply(), [centred, centred])])
        let shifted = try apply(Add(), [variance, literal(Float(epsilon))])
        return try apply(Multiply(), [centred, try apply(Rsqrt(), [shifted])])
    }
}
