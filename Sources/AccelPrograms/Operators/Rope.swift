import AccelTensors

/// Rotary position embedding (Su et al., "RoFormer", 2021), half-split: elements i and i + R of the last axis are
/// rotated as a pair.
///
/// ```text
/// y[i]     = x[i]     * cos[i] - x[i + R] * sin[i]    for i < R
/// y[i + R] = x[i + R] * cos[i] + x[i]     * sin[i]
/// y[j]     = x[j]                                     for j >= 2R (partial rotation)
/// ```
///
/// Inputs: x F32[..., W], cos and sin F32[..., R] (one half of the frameworks' tables, whose halves are equal) of the same
/// type, with `2R <= W`; their leading axes broadcast to those of x, e.g. [sequence, R] or [batch, 1, sequence, R] for x
/// [batch, heads, sequence, W]. Output as x.
public struct Rope: Operator {
    public static let name = "rope"
    public static let rounding = ResultRounding.elementwise
    public static let inputs: [OperatorInput] = [.x, OperatorInput("cos"), OperatorInput("sin")]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (x, cos, sin) = (inputs[0], inputs[1], inputs[2])
        try x.require(rank: 1...8, "x")
        try cos.require(rank: 1...x.rank, "cos")
        guard sin == cos else { throw OperatorError("sin: expected \(cos), found \(sin)") }
        guard let half = cos.dimensions[cos.rank - 1].value, let width = x.dimensions[x.rank - 1].value,
            half >= 1, half <= width / 2
        else { throw OperatorError("cos: expected 1 to half as many columns as \(x), found \(cos)") }
        let leading = Array(x.dimensions.dropLast())
        guard try broadcast([Array(cos.dimensions.dropLast()), leading]) == leading else {
            throw OperatorError("\(cos) does not broadcast to the rows of \(x)")
        }
        return [x]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, shape) = (inputs[0].floats, inputs[0].shape)
        let (width, half) = (shape.dimensions[shape.rank - 1], inputs[1].shape.dimensions[inputs[1].shape.rank - 1])
        let angles = Shape(shape.dimensions.dropLast() + [half])
        let (cos, sin) = (inputs[1].expanded(to: angles).floats, inputs[2].expanded(to: angles).floats)
        let result = Reference.rows(shape.count / width, width: width) { row, result in
            let (start, angle) = (row * width, row * half)
            for i in 0..<half {
                let (a, b) = (Double(x[start + i]), Double(x[start + half + i]))
                let (cos, sin) = (Double(cos[angle + i]), Double(sin[angle + i]))
                result[i] = Float(a * cos - b * sin)
                result[half + i] = Float(b * cos + a * sin)
            }
            for column in 2 * half..<width { result[column] = x[start + column] }
        }
        return [HostTensor(result, shape)]
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let (x, half) = (builder.type(of: inputs[0]), builder.type(of: inputs[1]).dimensions.last ?? 0)
        func columns(from first: Dimension, _ count: Dimension) throws -> Value {
            let begin = x.dimensions.dropLast().map { _ in Dimension(0) } + [first]
            return try builder.apply(Slice(begin: begin, sizes: x.dimensions.dropLast() + [count]), [inputs[0]])
        }
        func product(_ value: Value, _ table: Value) throws -> Value {
            try builder.apply(Multiply(), [value, table])
        }
        let (a, b) = (try columns(from: 0, half), try columns(from: half, half))
        var parts = [
            try builder.apply(Subtract(), [try product(a, inputs[1]), try product(b, inputs[2])]),
            try builder.apply(Add(), [try product(b, inputs[1]), try product(a, inputs[2])]),
        ]
        let rest = x.dimensions[x.rank - 1] - half - half
        if rest != 0 { parts.append(try columns(from: half + half, rest)) }
        return [try builder.apply(Concat(axis: x.rank - 1), parts)]
    }
}
