import CKernels

/// Single values of IEEE 754 binary16. (Swift's Float16 is missing on some platforms, and slow on others.)
public enum Half {
    public static func bits(_ value: Float) -> UInt16 {
        var (value, bits) = (value, UInt16(0))
        ck_f32_to_f16(&value, &bits, 1)
        return bits
    }
    public static func value(_ bits: UInt16) -> Float {
        var (bits, value) = (bits, Float(0))
        ck_f16_to_f32(&bits, &value, 1)
        return value
    }
    /// To the nearest binary16, ties to even; what is too large becomes infinite.
    static func rounded(_ value: Float) -> Float { self.value(bits(value)) }
}
