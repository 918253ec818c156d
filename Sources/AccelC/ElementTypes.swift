import AccelTensors
internal import CAccel

extension ElementType {
    /// The number of the type in C.
    var number: UInt32 {
        switch self {
        case .float32: UInt32(ACCEL_F32)
        case .float64: UInt32(ACCEL_F64)
        case .float16: UInt32(ACCEL_F16)
        case .bfloat16: UInt32(ACCEL_BF16)
        case .float8e4m3: UInt32(ACCEL_F8_E4M3)
        case .float8e5m2: UInt32(ACCEL_F8_E5M2)
        case .int64: UInt32(ACCEL_I64)
        case .int32: UInt32(ACCEL_I32)
        case .int16: UInt32(ACCEL_I16)
        case .int8: UInt32(ACCEL_I8)
        case .uint64: UInt32(ACCEL_U64)
        case .uint32: UInt32(ACCEL_U32)
        case .uint16: UInt32(ACCEL_U16)
        case .uint8: UInt32(ACCEL_U8)
        case .bool: UInt32(ACCEL_BOOL)
        }
    }

    /// nil for a number that is no type's.
    init?(number: UInt32) {
        guard let type = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = type
    }
}
