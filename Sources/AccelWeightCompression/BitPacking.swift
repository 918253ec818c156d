import CAccelKernels

/// Codes of 1 to 8 bits packed as a bit stream: the first code is in the lowest bits of the first byte.
public enum BitPacking {
    /// The bytes of so many packed codes.
    package static func byteCount(_ codes: Int, bits: Int) -> Int { (codes * bits + 7) / 8 }

    /// Writes `codes` to the start of `target`; the bits after the last code are zero.
    static func pack(_ codes: UnsafeBufferPointer<UInt8>, bits: Int, into target: UnsafeMutablePointer<UInt8>) {
        if bits == 8 {
            for index in 0..<codes.count { target[index] = codes[index] }
            return
        }
        if bits == 4 {
            for pair in 0..<codes.count / 2 { target[pair] = codes[2 * pair] | codes[2 * pair + 1] << 4 }
            if codes.count % 2 == 1 { target[codes.count / 2] = codes[codes.count - 1] }
            return
        }
        var (word, filled, slot) = (UInt32(0), 0, 0)
        for code in codes {
            word |= UInt32(code) << UInt32(filled)
            filled += bits
            while filled >= 8 {
                target[slot] = UInt8(truncatingIfNeeded: word)
                word >>= 8
                filled -= 8
                slot += 1
            }
        }
        if filled > 0 { target[slot] = UInt8(truncatingIfNeeded: word) }
    }

    /// Reads as many codes as `codes` has elements.
    public static func unpack(_ source: UnsafePointer<UInt8>, bits: Int, into codes: UnsafeMutableBufferPointer<UInt8>)
    {
        ck_unpack_codes(source, Int32(bits), codes.count, codes.baseAddress)
    }
}
