public import AccelTensors

/// Scaled dot-product attention: `softmax(scale * q k^T + mask) v`.
///
/// Inputs: q F32[batch, heads, S, width], k F32[batch, kvHeads, T, width], v F32[batch, kvHeads, T, valueWidth] (k and
/// v may both be F16, or I8 with 4 more bytes in a row for its scale, as `RoundRows` makes them; they are widened), and
/// optionally an additive mask that broadcasts to F32[batch, heads, S, T]. Output: F32[batch, heads, S, valueWidth].
/// `kvHeads` divides `heads`; head h reads key and value head `h / (heads / kvHeads)`.
///
/// Scores plus mask are rounded to float32 before the softmax. A large finite mask value then absorbs the score, so
/// that a fully masked row gives all keys the same weight.
public struct Attention: Operator {
    public static let name = "attention"
    public static let inputs: [OperatorInput] = [
        OperatorInput("q"), OperatorInput("k", .oneOf([.float32, .float16, .int8])),
        OperatorInput("v", .oneOf([.float32, .float16, .int8])), OperatorInput("mask", presence: .optional),
    ]
    /// The factor of the scores, usually `1 / sqrt(width)`.
    public var scale: Double

    /// Creates the operator with the factor of the scores.
    public init(scale: Double) { self.scale = scale }
    public init(attributes: Attributes) throws { scale = try attributes.number("scale") }
    public var attributes: Attributes { ["scale": .number(scale)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        for (input, what) in zip(inputs, ["q", "k", "v"]) { try input.require(rank: 4...4, what) }
        guard inputs[1].elementType == inputs[2].elementType else {
            throw OperatorError(
                "v: expected \(inputs[1].elementType.rawValue) as k, found \(inputs[2].elementType.rawValue)")
        }
        if inputs[1].elementType == .int8 {
            try inputs[1].requireByteRows("k")
            try inputs[2].requireByteRows("v")
        }
        let (q, k, v) = (inputs[0], inputs[1].keepingRows(as: .float32), inputs[2].keepingRows(as: .float32))
        try requireEqual(k.dimensions[0], q.dimensions[0], "batch of k")
        try requireEqual(k.dimensions[3], q.dimensions[3], "width of k")
        for (axis, what) in ["batch", "heads", "length"].enumerated() {
            try requireEqual(v.dimensions[axis], k.dimensions[axis], "\(what) of v")
        }
        guard let heads = q.dimensions[1].value, let groups = k.dimensions[1].value, groups > 0, heads % groups == 0
        else {
            throw OperatorError("\(q.dimensions[1]) query heads are not a multiple of \(k.dimensions[1]) key heads")
        }
        if let mask = inputs.named("mask", of: self) {
            let scores = q.dimensions[..<3] + [k.dimensions[2]]
            guard try broadcast([mask.dimensions, Array(scores)]) == Array(scores) else {
                throw OperatorError("mask \(mask) does not broadcast to \(TensorType(.float32, Array(scores)))")
            }
        }
        return [TensorType(.float32, q.dimensions[..<3] + [v.dimensions[3]])]
    }

    public func evaluate(_ given: [HostTensor]) throws -> [HostTensor] {
        let inputs = given.map { $0.wideningRows() }
        let (q, k) = (inputs[0].floats, inputs[1].floats)
        let (heads, rows, width) = (
            inputs[0].shape.dimensions[1], inputs[0].shape.dimensions[2], inputs[0].shape.dimensions[3]
        )
        let (keyHeads, keys) = (inputs[1].shape.dimensions[1], inputs[1].shape.dimensions[2])
        let shape = Shape(inputs[0].shape.dimensions[..<3] + [inputs[2].shape.dimensions[3]])
        let valueWidth = shape.dimensions[3]
        let v = inputs[2].floats
        let masking = inputs.named("mask", of: self)
        let maskLayout = masking.map {
            StridedLayout(shape: $0.shape).expanded(to: Shape(shape.dimensions[..<3] + [keys]))
        }
        let mask = masking?.floats ?? []
        // No product of a query and a key is larger (Cauchy and Schwarz); NaN if one is not finite.
        let largest = abs(scale) * (Reference.sumOfSquares(q) * Reference.sumOfSquares(k)).squareRoot()
        let canExclude = largest < 1e29 && Reference.areFinite(v)
        let result = Reference.rows(shape.count / max(valueWidth, 1), width: valueWidth) { row, result in
            let (batch, head) = (row / (rows * heads), row / rows % heads)
            let group = batch * keyHeads + head / (heads / keyHeads)
            let masks = maskLayout.map { layout in
                let start = zip([batch, head, row % rows], layout.strides).reduce(0) { $0 + $1.0 * $1.1 }
                return (0..<keys).map { mask[start + $0 * layout.strides[3]] }
            }
            let seen = masks.map { canExclude ? Self.seen($0) : Array($0.indices) } ?? Array(0..<keys)
            let scores = q.withUnsafeBufferPointer { q in
                k.withUnsafeBufferPointer { k in
                    seen.map { key in
                        let product = Reference.dot(q, row * width, k, (group * keys + key) * width, width)
                        return masks.map { Float(scale * product) + $0[key] } ?? Float(scale * product)
                    }
                }
            }
            let weights = Softmax.weights(scores)
            withUnsafeTemporaryAllocation(of: Double.self, capacity: valueWidth) { sums in
                sums.initialize(repeating: 0)
                v.withUnsafeBufferPointer { v in
                    for (key, weight) in zip(seen, weights) {
                        let start = (group * keys + key) * valueWidth
                        for column in 0..<valueWidth { sums[column] += weight * Double(v[start + column]) }
                    }
                }
                for column in 0..<valueWidth { result[column] = Float(sums[column]) }
            }
        }
        return [HostTensor(result, shape)]
    }

    /// Returns the keys whose weights may differ from 0 in a row, if all products are below 1e29: beside a key that the mask admits, the
    /// exponential of one that it excludes is 0 even in float64.
    private static func seen(_ masks: [Float]) -> [Int] {
        guard masks.contains(where: { $0 > -1e28 }) else { return Array(masks.indices) }
        return masks.indices.filter { !(masks[$0] <= -1e30) }
    }

    public func decomposed(_ inputs: [Value], in builder: inout ProgramBuilder) throws -> [Value]? {
        let heads = builder.type(of: inputs[0]).dimensions[1]
        let keys = try Self.repeating(inputs[1], to: heads, in: &builder)
        let values = try Self.repeating(inputs[2], to: heads, in: &builder)
        let transposed = try builder.apply(Transpose([0, 1, 3, 2]), [keys])
        let products = try builder.apply(MatMul(), [inputs[0], transposed])
        var scores = try builder.apply(Multiply(), [products, builder.literal(Float(scale))])
        if let mask = inputs.named("mask", of: self, in: builder) {
            scores = try builder.apply(Add(), [scores, mask])
        }
        return [try builder.apply(MatMul(), [try builder.apply(Softmax(), [scores]), values])]
    }

    /// Repeats each key or value head until there are `heads`.
    private static func repeating(_ value: Value, to heads: Dimension, in builder: inout ProgramBuilder) throws -> Value
    {
        let value = try builder.converting(value, to: .float32)
        let dimensions = builder.type(of: value).dimensions
        guard let own = dimensions[1].value, let all = heads.value, own > 0, all != own else { return value }
        let apart = try builder.apply(
            Reshape(to: [dimensions[0], dimensions[1], 1, dimensions[2], dimensions[3]]), [value])
        let repeated = try builder.apply(
            Expand(to: [dimensions[0], dimensions[1], .fixed(all / own), dimensions[2], dimensions[3]]), [apart])
        return try builder.apply(Reshape(to: [dimensions[0], heads, dimensions[2], dimensions[3]]), [repeated])
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        // Rows of codes have a few bytes more, for their scales.
        let isBytes = inputs[1].dimensions[3] != inputs[0].dimensions[3]
        let widths = inputs[0].dimensions[3] + inputs[2].dimensions[3] - (isBytes ? ByteRow.scaleBytes : 0)
        return saturatingProduct(inputs[0].dimensions[..<3] + [inputs[1].dimensions[2], widths])
    }
}
