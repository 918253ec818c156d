public import AccelTensors

/// The element type and dimensions of a value.
///
/// Programs compute in F32; integers are I64 and conditions BOOL. Key/value caches may be F16, or I8 with a scale at the end
/// of each row (`RoundRows`): values are rounded when they are written, and widened when they are read.
public struct TensorType: Hashable, Sendable, CustomStringConvertible {
    /// F32, F16, I8, I64 or BOOL.
    public var elementType: ElementType
    /// The size of each dimension, from the outermost to the innermost.
    public var dimensions: [Dimension]

    /// Creates a type whose dimensions may be free.
    public init(_ elementType: ElementType, _ dimensions: [Dimension]) {
        self.elementType = elementType
        self.dimensions = dimensions
    }

    /// Creates a type with integer dimensions.
    public init(_ elementType: ElementType, shape: Shape) {
        self.init(elementType, shape.dimensions.map(Dimension.fixed))
    }

    /// The number of dimensions.
    public var rank: Int { dimensions.count }

    /// The dimensions as numbers; nil while one is free.
    public var shape: Shape? {
        let numbers = dimensions.compactMap(\.value)
        return numbers.count == rank ? Shape(numbers) : nil
    }

    /// The type as text, such as `F32[batch,sequence,384]`.
    public var description: String {
        "\(elementType.rawValue)[\(dimensions.map(\.description).joined(separator: ","))]"
    }
}

extension ElementType {
    /// Whether values of a program may have the type: F32, F16, I8, I64 or BOOL.
    package var isValueType: Bool { isNarrowStateType || self == valueType }

    /// Whether only key/value caches have the type, and what is written to them: F16 or I8.
    package var isNarrowStateType: Bool { self == .float16 || self == .int8 }

    /// The element type of a constant's value in a program: F32, I64 or BOOL.
    public var valueType: ElementType {
        if self == .bool { return .bool }
        return isFloatingPoint ? .float32 : .int64
    }
}
