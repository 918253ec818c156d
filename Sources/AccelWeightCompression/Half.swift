import CAccelKernels

/// Conversion of single values from and to float16 (IEEE 754 binary16). Swift's Float16 is missing on some platforms,
/// and slow on others.
public enum Half {
    /// Returns the bits of the nearest float16, with ties to even; infinity for values out of range.
    public static func bits(_ value: Float) -> UInt16 {
        var (value, bits) = (value, UInt16(0))
        ck_f32_to_f16(&value, &bits, 1)
        return bits
    }
    /// Returns the value of the bits of a float16.
    public static func value(_ bits: UInt16) -> Float {
        var (bits, value) = (bits, Float(0))
        ck_f16_to_f32(&bits, &value, 1)
        return value
    }
    /// Returns the nearest float16, with ties to even; infinity for values out of range.
    static func rounded(_ value: Float) -> Float { self.value(bits(value)) }
}

extension [Float] {
    /// Rounds each element to the nearest float16, with ties to even; values out of range become infinite.
    public mutating func roundToHalf() {
        let count = self.count
        withUnsafeMutableBufferPointer { floats in
            guard let start = floats.baseAddress else { return }
            let block = 4096
            var halves = [UInt16](repeating: 0, count: Swift.min(block, count))
            for first in Swift.stride(from: 0, to: count, by: block) {
                let part = Swift.min(block, count - first)
                ck_f32_to_f16(start + first, &halves, part)
                ck_f16_to_f32(halves, start + first, part)
            }
        }
    }
}
