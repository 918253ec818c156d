/// The element types of the Model Intermediate Language, by the numbers that Core ML's files use (MIL.proto, DataType).
public enum MILDataType: Int, CaseIterable, Sendable {
    case bool = 1
    case string = 2
    case float16 = 10
    case float32 = 11
    case float64 = 12
    case bfloat16 = 13
    case int8 = 21
    case int16 = 22
    case int32 = 23
    case int64 = 24
    case int4 = 25
    case uint8 = 31
    case uint16 = 32
    case uint32 = 33
    case uint64 = 34
    case uint4 = 35
    case uint2 = 36
    case uint1 = 37
    case uint6 = 38
    case uint3 = 39

    /// The unsigned integer of so many bits that codes of a palette have; nil where there is none.
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

    public var isFloatingPoint: Bool { [.float16, .float32, .float64, .bfloat16].contains(self) }

    /// The word that `cast` takes for it, and that texts show.
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

/// An element type and extents; an extent is nil where it is not known before the model runs.
public struct MILTensorType: Hashable, Sendable, CustomStringConvertible {
    public var dataType: MILDataType
    public var dimensions: [Int?]

    public init(_ dataType: MILDataType, _ dimensions: [Int?]) {
        self.dataType = dataType
        self.dimensions = dimensions
    }

    public var rank: Int { dimensions.count }
    /// The extents as numbers, nil while one is not known.
    public var extents: [Int]? {
        let known = dimensions.compactMap(\.self)
        return known.count == rank ? known : nil
    }

    /// e.g. `fp16[1,128,384]`
    public var description: String {
        "\(dataType.word)[\(dimensions.map { $0.map(String.init) ?? "?" }.joined(separator: ","))]"
    }
}

/// The type of a value: a tensor, or memory that lasts from one prediction to the next.
public enum MILType: Hashable, Sendable {
    case tensor(MILTensorType)
    case state(MILTensorType)

    public var tensor: MILTensorType {
        switch self {
        case .tensor(let type), .state(let type): type
        }
    }
}
