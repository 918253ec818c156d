public import AccelTensors

/// Broadcasts a tensor to given dimensions with the rules of numpy: aligned at the last axis, a size of 1 is repeated.
public struct Expand: ViewOperator {
    public static let name = "expand"
    /// The dimensions of the output.
    public var dimensions: [Dimension]

    /// Creates the operator for the dimensions of the output.
    public init(to dimensions: [Dimension]) { self.dimensions = dimensions }
    public init(attributes: Attributes) throws { dimensions = try attributes.dimensions("to") }
    public var attributes: Attributes { ["to": .dimensions(dimensions)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let input = inputs[0]
        guard try broadcast([input.dimensions, dimensions]) == dimensions else {
            throw OperatorError("\(input) does not broadcast to \(TensorType(input.elementType, dimensions))")
        }
        return [TensorType(input.elementType, dimensions)]
    }

    public func view(of input: StridedLayout) -> StridedLayout? {
        input.expanded(to: Shape(dimensions.compactMap(\.value)))
    }
}

extension StridedLayout {
    /// Returns the layout broadcast to `shape`: repeated axes get stride 0.
    /// - Precondition: the layout's shape broadcasts to `shape`.
    public func expanded(to shape: Shape) -> StridedLayout {
        let added = shape.rank - self.shape.rank
        let strides = shape.dimensions.indices.map { axis in
            let own = axis - added
            return own < 0 || self.shape.dimensions[own] != shape.dimensions[axis] ? 0 : self.strides[own]
        }
        return StridedLayout(offset: offset, shape: shape, strides: strides)
    }
}
