import AccelTensors

/// The element types of Core AI, by the numbers of their types in the dialect `aicode`.
enum CoreAIElement: Int, CaseIterable, Sendable {
    case bool = 4, float64, float32, float16, bfloat16, float8e5m2, float8e4m3
    case int64 = 17, int32, int16, int8, int4, int2, uint64, uint32, uint16, uint8, uint4, uint2, uint1
    case uint6 = 36, uint3

    /// The unsigned type of palette codes of this number of bits; nil if there is none.
    init?(codeBits: Int) {
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

    /// The type of the values of a program: integers have 32 bits.
    init(_ type: ElementType) {
        switch type {
        case .bool: self = .bool
        case .float16: self = .float16
        case .bfloat16: self = .bfloat16
        case .float64: self = .float64
        case .float8e4m3: self = .float8e4m3
        case .float8e5m2: self = .float8e5m2
        default: self = type.isFloatingPoint ? .float32 : .int32
        }
    }

    /// Bits of an element in a resource, where elements are packed; the first is in the lowest bits.
    var bits: Int {
        switch self {
        case .uint1: 1
        case .int2, .uint2: 2
        case .uint3: 3
        case .int4, .uint4: 4
        case .uint6: 6
        case .bool, .float8e5m2, .float8e4m3, .int8, .uint8: 8
        case .float16, .bfloat16, .int16, .uint16: 16
        case .float32, .int32, .uint32: 32
        case .float64, .int64, .uint64: 64
        }
    }

    var isFloatingPoint: Bool { (5...10).contains(rawValue) }

    /// Returns the bytes of elements in a resource.
    func byteCount(_ elements: Int) -> Int { (elements * bits + 7) / 8 }
}
