import AccelPlatform
import AccelTensors

/// `exp(x) / sum(exp(x))` over the last axis of a float32 tensor.
public struct Softmax: Operator {
    public static let name = "softmax"
    public static let rounding = ResultRounding.elementwise
    public static let inputs: [OperatorInput] = [.x]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 1...8, "x")
        return inputs
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, shape) = (inputs[0].floats, inputs[0].shape)
        let width = shape.dimensions[shape.rank - 1]
        let result = Reference.rows(width == 0 ? 0 : shape.count / width, width: width) { row, result in
            let weights = Softmax.weights(x[row * width..<(row + 1) * width])
            for (column, weight) in weights.enumerated() { result[column] = Float(weight) }
        }
        return [HostTensor(result, shape)]
    }

    /// Returns the softmax of one row, in float64.
    static func weights(_ row: some Collection<Float>) -> [Double] {
        let largest = Double(row.max() ?? 0)
        var sum = 0.0
        var powers: [Double] = []
        powers.reserveCapacity(row.count)
        for x in row {
            let power = AccelPlatform.exp(Double(x) - largest)
            powers.append(power)
            sum += power
        }
        return powers.map { $0 / sum }
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let last = builder.type(of: inputs[0]).rank - 1
        let largest = try builder.apply(Reduce(.max, axes: [last]), inputs)
        let powers = try builder.apply(Exp(), [try builder.apply(Subtract(), [inputs[0], largest])])
        return [try builder.apply(Divide(), [powers, try builder.apply(Reduce(.sum, axes: [last]), [powers])])]
    }
}
