/// The element types of the Model Intermediate Language, by the numbers that Core ML's files use (MIL.proto, DataType).
public enum MILDataType: Int, CaseIterable, Sendable {
    /// Booleans, a byte each.
    case bool = 1
    /// Strings, as arguments only.
    case string = 2
    /// IEEE 754 half precision.
    case float16 = 10
    /// IEEE 754 single precision.
    case float32 = 11
    /// IEEE 754 double precision.
    case float64 = 12
    /// The upper 16 bits of float32.
    case bfloat16 = 13
    /// Signed 8-bit integers.
    case int8 = 21
    /// Signed 16-bit integers.
    case int16 = 22
    /// Signed 32-bit integers.
    case int32 = 23
    /// Signed 64-bit integers.
    case int64 = 24
    /// Signed 4-bit integers, packed.
    case int4 = 25
    /// Unsigned 8-bit integers.
    case uint8 = 31
    /// Unsigned 16-bit integers.
    case uint16 = 32
    /// Unsigned 32-bit integers.
    case uint32 = 33
    /// Unsigned 64-bit integers.
    case uint64 = 34
    /// Unsigned 4-bit integers, packed.
    case uint4 = 35
    /// Unsigned 2-bit integers, packed.
    case uint2 = 36
    /// Single bits, packed.
    case uint1 = 37
    /// Unsigned 6-bit integers, packed.
    case uint6 = 38
    /// Unsigned 3-bit integers, packed.
    case uint3 = 39

    /// The unsigned integer type for palette codes of this number of bits; nil if there is none.
    public init?(codeBits: Int) {
        switch codeBits {
        case 1: self = .uint1
        case 2: self = .uint2
        case 3: self = .uint3
        case 4: self = .uint4
        case 6: self = .uint6
        case 8: self = .uint8
        default: return nil
        }
    }

    /// Bits of an element; nil for strings.
    public var bits: Int? {
        switch self {
        case .string: nil
        case .uint1: 1
        case .uint2: 2
        case .uint3: 3
        case .int4, .uint4: 4
        case .uint6: 6
        case .bool, .int8, .uint8: 8
        case .float16, .bfloat16, .int16, .uint16: 16
        case .float32, .int32, .uint32: 32
        case .float64, .int64, .uint64: 64
        }
    }

    /// Whether the type is float16, float32, float64 or bfloat16.
    public var isFloatingPoint: Bool { [.float16, .float32, .float64, .bfloat16].contains(self) }

    /// The name of the type in `cast` operations and in texts, e.g. `fp16`.
    public var word: String {
        switch self {
        case .float16: "fp16"
        case .float32: "fp32"
        case .float64: "fp64"
        case .bfloat16: "bf16"
        default: "\(self)"
        }
    }
}

/// An element type and a shape, whose sizes may be unknown until the model runs.
public struct MILTensorType: Hashable, Sendable, CustomStringConvertible {
    /// The element type.
    public var dataType: MILDataType
    /// The sizes; nil for those that are unknown until the model runs.
    public var dimensions: [Int?]

    /// A tensor type; no dimensions for a scalar.
    public init(_ dataType: MILDataType, _ dimensions: [Int?]) {
        self.dataType = dataType
        self.dimensions = dimensions
    }

    /// The number of dimensions.
    public var rank: Int { dimensions.count }
    /// The shape; nil if a size is unknown.
    public var sizes: [Int]? {
        let known = dimensions.compactMap(\.self)
        return known.count == rank ? known : nil
    }

    /// The type in texts, e.g. `fp16[1,128,384]`.
    public var description: String {
        "\(dataType.word)[\(dimensions.map { $0.map(String.init) ?? "?" }.joined(separator: ","))]"
    }
}

/// The type of a value: a tensor, or a state, which lasts from one prediction to the next.
public enum MILType: Hashable, Sendable {
    /// A tensor.
    case tensor(MILTensorType)
    /// A state that holds a tensor.
    case state(MILTensorType)

    /// The tensor type of the value, or of the state's content.
    public var tensor: MILTensorType {
        switch self {
        case .tensor(let type), .state(let type): type
        }
    }
}
