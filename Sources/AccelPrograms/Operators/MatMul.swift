public import AccelTensors

/// Batched matrix product: `y[..., m, n] = sum_k a[..., m, k] * b[..., k, n]`.
///
/// Inputs: a F32[..., M, K], b F32[..., K, N]; the axes before the last two broadcast. Output: F32[..., M, N].
public struct MatMul: Operator {
    public static let name = "matmul"
    public static let inputs: [OperatorInput] = [OperatorInput("left"), OperatorInput("right")]
    /// Creates the operator, which has no attributes.
    public init() {}
    public init(attributes: Attributes) throws {}
    public var attributes: Attributes { [:] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (a, b) = (inputs[0], inputs[1])
        try a.require(rank: 2...8, "left")
        try b.require(rank: 2...8, "right")
        try requireEqual(b.dimensions[b.rank - 2], a.dimensions[a.rank - 1], "rows of the right matrix")
        let batch = try broadcast([a.dimensions.dropLast(2), b.dimensions.dropLast(2)])
        return [TensorType(.float32, batch + [a.dimensions[a.rank - 2], b.dimensions[b.rank - 1]])]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = Shape(try outputTypes(inputs.map(\.type))[0].dimensions.compactMap(\.value))
        let batch = shape.dimensions.dropLast(2)
        let (m, n) = (shape.dimensions[shape.rank - 2], shape.dimensions[shape.rank - 1])
        let k = inputs[0].shape.dimensions[inputs[0].shape.rank - 1]
        let right = inputs[1].shape.rank
        let transposed = try inputs[1].transposed(Array(0..<right - 2) + [right - 1, right - 2])
        let a = inputs[0].expanded(to: Shape(batch + [m, k])).floats
        let b = transposed.expanded(to: Shape(batch + [n, k])).floats
        let products = Reference.rows(batch.reduce(1, *) * m, width: n) { row, result in
            a.withUnsafeBufferPointer { a in
                b.withUnsafeBufferPointer { b in
                    for column in 0..<n {
                        result[column] = Float(Reference.dot(a, row * k, b, (row / m * n + column) * k, k))
                    }
                }
            }
        }
        return [HostTensor(products, shape)]
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        let types = inputs.map { TensorType(.float32, shape: $0) }
        guard let output = try? outputTypes(types)[0].shape, let inner = inputs[0].dimensions.last else { return 0 }
        return saturatingProduct(output.dimensions + [inner])
    }
}
