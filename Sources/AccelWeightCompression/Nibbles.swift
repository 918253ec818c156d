/// Codes of four bits, two per byte, the first in the lower half.
enum Nibbles {
    static func byteCount(_ count: Int) -> Int { (count + 1) / 2 }

    /// Packs the lower four bits of each code, starting at byte `start` of `section`.
    static func pack(
        _ codes: UnsafePointer<UInt8>, _ count: Int, into section: UnsafeMutableRawBufferPointer, at start: Int
    ) {
        guard let target = section.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        for pair in 0..<count / 2 { target[start + pair] = codes[2 * pair] & 15 | codes[2 * pair + 1] << 4 }
        if count % 2 == 1 { target[start + count / 2] = codes[count - 1] & 15 }
    }

    static func unsigned(_ bytes: UnsafeRawBufferPointer, from start: Int, at index: Int) -> UInt8 {
        bytes[start + index / 2] >> UInt8(index % 2 * 4) & 15
    }

    /// Returns a code in two's complement.
    static func signed(_ bytes: UnsafeRawBufferPointer, from start: Int, at index: Int) -> Int {
        let nibble = Int(unsigned(bytes, from: start, at: index))
        return nibble < 8 ? nibble : nibble - 16
    }

    /// Writes `count` codes in two's complement that start at byte `start`.
    static func unpackSigned(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ count: Int, into codes: UnsafeMutablePointer<Int8>
    ) {
        for pair in 0..<count / 2 {
            let byte = bytes[start + pair]
            codes[2 * pair] = Int8(bitPattern: byte << 4) >> 4
            codes[2 * pair + 1] = Int8(bitPattern: byte) >> 4
        }
        if count % 2 == 1 { codes[count - 1] = Int8(bitPattern: bytes[start + count / 2] << 4) >> 4 }
    }
}
