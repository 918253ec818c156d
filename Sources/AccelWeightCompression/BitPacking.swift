/// Codes of 1 to 8 bits packed as a bit stream: the first code is in the lowest bits of the first byte.
public enum BitPacking {
    static func byteCount(_ codes: Int, bits: Int) -> Int { (codes * bits + 7) / 8 }

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
        if bits == 8 {
            for index in 0..<codes.count { codes[index] = source[index] }
            return
        }
        let mask = UInt8((1 << bits) - 1)
        if 8 % bits == 0 {
            for index in 0..<codes.count {
                let bit = index &* bits
                codes[index] = source[bit >> 3] >> UInt8(truncatingIfNeeded: bit & 7) & mask
            }
            return
        }
        for index in 0..<codes.count {
            let bit = index * bits
            let low = UInt16(source[bit >> 3]) >> UInt16(bit & 7)
            let high = bit & 7 + bits > 8 ? UInt16(source[bit >> 3 + 1]) << UInt16(8 - bit & 7) : 0
            codes[index] = UInt8(truncatingIfNeeded: low | high) & mask
        }
    }
}
