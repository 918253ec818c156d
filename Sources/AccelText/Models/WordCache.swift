/// The tokens of short words that were met before. Each word has one slot; a new word takes the place of another.
///
/// Results do not depend on it. A slot has 12 words: lengths, 5 of key, 4 of token numbers, and the ends of the tokens in bytes.
struct WordCache: Sendable {
    static let longestWord = 40
    static let mostTokens = 8
    private static let slotCount = 1 << 13
    private static let slotSize = 12
    private var slots: [UInt64] = []

    struct Key {
        var words: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
        var length: UInt64
        var slot: Int
    }

    /// Returns the key of a word; nil if it is too long.
    @inline(__always)
    static func key(_ word: UnsafeBufferPointer<UInt8>) -> Key? {
        guard word.count <= longestWord else { return nil }
        var key = Key(length: UInt64(word.count), slot: 0)
        withUnsafeMutableBytes(of: &key.words) { $0.copyMemory(from: UnsafeRawBufferPointer(word)) }
        let words = key.words
        var hash = (words.0 &+ key.length) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 29 ^ words.1) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 32 ^ words.2) &* 0x94D0_49BB_1331_11EB
        hash = (hash ^ hash >> 29 ^ words.3) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 32 ^ words.4) &* 0xBF58_476D_1CE4_E5B9
        key.slot = Int(truncatingIfNeeded: hash >> 40) & (slotCount - 1)
        return key
    }

    /// Appends the tokens of a word, if they are known.
    @inline(__always)
    func appendTokens(of key: Key, to output: inout TokenOutput) -> Bool {
        guard !slots.isEmpty else { return false }
        return slots.withUnsafeBufferPointer { slots in
            let slot = slots.baseAddress! + key.slot * Self.slotSize
            guard slot[0] & 0xFF == key.length, slot[1] == key.words.0, slot[2] == key.words.1, slot[3] == key.words.2,
                slot[4] == key.words.3, slot[5] == key.words.4, slot[0] >> 8 != 0
            else { return false }
            let count = Int(slot[0] >> 8)
            let ids = UnsafeRawPointer(slot + 6)
            var start: Int32 = 0
            for index in 0..<count {
                let end = Int32(truncatingIfNeeded: slot[10] >> UInt64(index * 8) & 0xFF)
                output.append(ids.load(fromByteOffset: index * 4, as: Int32.self), start, end)
                start = end
            }
            return true
        }
    }

    /// Remembers the tokens of a word, which are those of the output from `first` on.
    mutating func store(_ key: Key, _ output: TokenOutput, from first: Int) {
        let count = output.ids.count - first
        guard count > 0, count <= Self.mostTokens, output.areConsecutive(from: first) else { return }
        if slots.isEmpty { slots = [UInt64](repeating: 0, count: Self.slotCount * Self.slotSize) }
        slots.withUnsafeMutableBufferPointer { slots in
            let slot = slots.baseAddress! + key.slot * Self.slotSize
            slot[0] = key.length | UInt64(count) << 8
            (slot[1], slot[2], slot[3], slot[4], slot[5]) = key.words
            let ids = UnsafeMutableRawPointer(slot + 6)
            slot[10] = 0
            for index in 0..<count {
                ids.storeBytes(of: output.ids[first + index], toByteOffset: index * 4, as: Int32.self)
                slot[10] |= UInt64(UInt8(truncatingIfNeeded: output.ends[first + index])) << UInt64(index * 8)
            }
        }
    }
}

/// The tokens of a piece: numbers, and ranges in bytes from the piece's start.
struct TokenOutput: Sendable {
    var ids: [TokenID] = []
    var starts: [Int32] = []
    var ends: [Int32] = []

    @inline(__always)
    mutating func append(_ id: TokenID, _ start: Int32, _ end: Int32) {
        ids.append(id)
        starts.append(start)
        ends.append(end)
    }

    mutating func removeAll() {
        ids.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// Each token starts where the one before ends, and no end exceeds a byte.
    func areConsecutive(from first: Int) -> Bool {
        var last: Int32 = 0
        for index in first..<ids.count {
            guard starts[index] == last, ends[index] < 256 else { return false }
            last = ends[index]
        }
        return true
    }
}
