/// The element type of a tensor. Raw values are the names in safetensors files.
public enum ElementType: String, CaseIterable, Sendable {
    case float64 = "F64"
    case float32 = "F32"
    case float16 = "F16"
    case bfloat16 = "BF16"
    case float8e4m3 = "F8_E4M3"
    case float8e5m2 = "F8_E5M2"
    case int64 = "I64"
    case int32 = "I32"
    case int16 = "I16"
    case int8 = "I8"
    case uint64 = "U64"
    case uint32 = "U32"
    case uint16 = "U16"
    case uint8 = "U8"
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
