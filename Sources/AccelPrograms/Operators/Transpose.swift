import AccelTensors

/// A permutation of the axes: axis i of the output is axis `permutation[i]` of the input.
public struct Transpose: ViewOperator {
    public static let name = "transpose"
    /// The input axis for each output axis.
    public var permutation: [Int]

    /// Creates the operator for one permutation.
    public init(_ permutation: [Int]) { self.permutation = permutation }
    public init(attributes: Attributes) throws { permutation = try attributes.integers("permutation") }
    public var attributes: Attributes { ["permutation": .integers(permutation)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        guard permutation.sorted() == Array(0..<input.rank) else {
            throw OperatorError("\(permutation) is not a permutation of the axes of \(input)")
        }
        return [TensorType(input.elementType, permutation.map { input.dimensions[$0] })]
    }

    public func view(of input: StridedLayout) -> StridedLayout? {
        StridedLayout(
            offset: input.offset, shape: Shape(permutation.map { input.shape.dimensions[$0] }),
            strides: permutation.map { input.strides[$0] })
    }
}
