/// SHA-1 (FIPS 180-4), which git uses as the name of a blob. It shows damage, and is no protection against attacks.
package struct SHA1 {
    private var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    /// The bytes after the last complete block: fewer than 64.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    /// Creates a hash of no bytes.
    package init() {}

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        rest += bytes
        var start = 0
        while rest.count - start >= 64 {
            addBlock(rest[start..<start + 64])
            start += 64
        }
        rest.removeFirst(start)
    }

    /// Returns the digest of all bytes, as 40 hexadecimal digits. May be called once.
    package mutating func finalize() -> String {
        let bits = count &* 8
        var tail: [UInt8] = [0x80]
        tail += [UInt8](repeating: 0, count: (119 - rest.count) % 64)
        tail += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
        tail.withUnsafeBytes { update($0) }
        let digits = Array("0123456789abcdef".utf8)
        let nibbles = state.flatMap { word in (0..<8).map { Int(word >> (28 - 4 * UInt32($0)) & 15) } }
        return String(decoding: nibbles.map { digits[$0] }, as: UTF8.self)
    }

    private mutating func addBlock(_ block: ArraySlice<UInt8>) {
        func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }
        var words = [UInt32](repeating: 0, count: 80)
        for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
        for index in 16..<80 {
            words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (round, word) in words.enumerated() {
            let (mixed, constant): (UInt32, UInt32) =
                switch round / 20 {
                case 0: (b & c | ~b & d, 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, 5) &+ mixed &+ e &+ constant &+ word
            (e, d, c, b, a) = (d, c, rotated(b, 30), a, next)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }
}
