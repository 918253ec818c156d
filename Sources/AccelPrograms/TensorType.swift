public import AccelTensors

/// What a value of a program is: its element type and extents.
///
/// Programs compute in float32; integers are int64, as the frameworks have them.
public struct TensorType: Hashable, Sendable, CustomStringConvertible {
    public var elementType: ElementType
    public var dimensions: [Dimension]

    public init(_ elementType: ElementType, _ dimensions: [Dimension]) {
        self.elementType = elementType
        self.dimensions = dimensions
    }

    public init(_ elementType: ElementType, shape: Shape) {
        self.init(elementType, shape.dimensions.map(Dimension.fixed))
    }

    public var rank: Int { dimensions.count }

    /// The extents as numbers, nil while one is free.
    public var shape: Shape? {
        let numbers = dimensions.compactMap(\.value)
        return numbers.count == rank ? Shape(numbers) : nil
    }

    /// e.g. `F32[batch,sequence,384]`
    public var description: String {
        "\(elementType.rawValue)[\(dimensions.map(\.description).joined(separator: ","))]"
    }
}

extension ElementType {
    /// The type that a constant of this type has as a value of a program: F32, I64 or BOOL.
    public var valueType: ElementType {
        if self == .bool { return .bool }
        return isFloatingPoint ? .float32 : .int64
    }
}
