/// The element type of a tensor. Raw values are the names in safetensors files.
public enum ElementType: String, CaseIterable, Sendable {
    /// IEEE 754 binary64.
    case float64 = "F64"
    /// IEEE 754 binary32.
    case float32 = "F32"
    /// IEEE 754 binary16.
    case float16 = "F16"
    /// The upper half of binary32.
    case bfloat16 = "BF16"
    /// OFP8 with 4 exponent and 3 mantissa bits, without infinity.
    case float8e4m3 = "F8_E4M3"
    /// OFP8 with 5 exponent and 2 mantissa bits.
    case float8e5m2 = "F8_E5M2"
    /// Signed 64-bit integers.
    case int64 = "I64"
    /// Signed 32-bit integers.
    case int32 = "I32"
    /// Signed 16-bit integers.
    case int16 = "I16"
    /// Signed 8-bit integers.
    case int8 = "I8"
    /// Unsigned 64-bit integers.
    case uint64 = "U64"
    /// Unsigned 32-bit integers.
    case uint32 = "U32"
    /// Unsigned 16-bit integers.
    case uint16 = "U16"
    /// Unsigned 8-bit integers.
    case uint8 = "U8"
    /// Booleans of one byte, 0 or 1.
    case bool = "BOOL"

    /// The size of one element in bytes.
    public var byteCount: Int {
        switch self {
        case .float64, .int64, .uint64: 8
        case .float32, .int32, .uint32: 4
        case .float16, .bfloat16, .int16, .uint16: 2
        case .float8e4m3, .float8e5m2, .int8, .uint8, .bool: 1
        }
    }

    /// The type is one of the floating-point types.
    public var isFloatingPoint: Bool {
        switch self {
        case .float64, .float32, .float16, .bfloat16, .float8e4m3, .float8e5m2: true
        default: false
        }
    }
}
