public import AccelTensors

/// Broadcasts a tensor to given extents, as numpy does: aligned at the last axis, an extent of 1 is repeated.
public struct Expand: ViewOperator {
    public static let name = "expand"
    public var dimensions: [Dimension]

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
    /// The layout broadcast to `shape`, which it has to fit: repeated axes get stride 0.
    public func expanded(to shape: Shape) -> StridedLayout {
        let added = shape.rank - self.shape.rank
        let strides = shape.dimensions.indices.map { axis in
            let own = axis - added
            return own < 0 || self.shape.dimensions[own] != shape.dimensions[axis] ? 0 : self.strides[own]
        }
        return StridedLayout(offset: offset, shape: shape, strides: strides)
    }
}
