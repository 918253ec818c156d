import AccelByteIO

/// The number of a token.
public typealias TokenID = Int32

/// The words of a model and their numbers, in one buffer of bytes and one flat hash table.
struct Vocabulary: Sendable {
    private var bytes: [UInt8] = []
    /// Where each entry's bytes start; one more than there are entries.
    private var starts: [UInt32] = [0]
    private var ids: [TokenID] = []
    /// hash << 32 | entry + 1; 0 is free. The count is a power of 2.
    private var slots: [UInt64]
    private var mask: Int
    private static let tagBits: UInt64 = 0xFFFF_FFFF_0000_0000
    /// The entry + 1 of each number, while the numbers are dense; else `sparse` has them.
    private var entries: [UInt32] = []
    private var sparse: [TokenID: UInt32] = [:]
    /// The largest number; -1 for none.
    private(set) var largestID: TokenID = -1

    /// - Parameter count: the expected number of entries.
    init(expecting count: Int = 0, byteCount: Int = 0) {
        var capacity = 16
        while capacity < count * 2 { capacity *= 2 }
        slots = [UInt64](repeating: 0, count: capacity)
        mask = capacity - 1
        starts.reserveCapacity(count + 1)
        ids.reserveCapacity(count)
        entries.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    /// The number of different words.
    var count: Int { ids.count }

    /// Adds a word. A word that is present gets the new number.
    mutating func add(_ word: UnsafeBufferPointer<UInt8>, _ id: TokenID) {
        let entry = entry(adding: word)
        setID(of: entry, id)
    }

    /// Returns the entry of a word, which is added if it is new. It needs a number then.
    mutating func entry(adding word: UnsafeBufferPointer<UInt8>) -> Int {
        let hash = Self.hash(word)
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            if slots[slot] >> 32 == hash >> 32 {
                let entry = Int(slots[slot] & 0xFFFF_FFFF) - 1
                if equals(entry, word) { return entry }
            }
            slot = (slot + 1) & mask
        }
        let entry = ids.count
        bytes.append(contentsOf: word)
        starts.append(UInt32(truncatingIfNeeded: bytes.count))
        ids.append(-1)
        slots[slot] = hash & Self.tagBits | UInt64(entry + 1)
        if ids.count * 2 > slots.count { grow() }
        return entry
    }

    /// Sets the number of an entry.
    mutating func setID(of entry: Int, _ id: TokenID) {
        ids[entry] = id
        note(entry, id)
    }

    mutating func add(_ word: String, _ id: TokenID) {
        Array(word.utf8).withUnsafeBufferPointer { add($0, id) }
    }

    private mutating func note(_ entry: Int, _ id: TokenID) {
        largestID = max(largestID, id)
        if Int(id) < entries.count {
            entries[Int(id)] = UInt32(entry + 1)
        } else if Int(id) <= entries.count * 2 + 1024 {
            while entries.count < Int(id) { entries.append(0) }
            entries.append(UInt32(entry + 1))
        } else {
            sparse[id] = UInt32(entry + 1)
        }
    }

    private mutating func grow() {
        slots = [UInt64](repeating: 0, count: slots.count * 2)
        mask = slots.count - 1
        for entry in ids.indices {
            let hash = withWord(entry) { Self.hash($0) }
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] != 0 { slot = (slot + 1) & mask }
            slots[slot] = hash & Self.tagBits | UInt64(entry + 1)
        }
    }

    /// Returns the number of a word; -1 for none.
    func find(_ word: UnsafeBufferPointer<UInt8>) -> TokenID {
        let hash = Self.hash(word)
        return slots.withUnsafeBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash) & mask
            while true {
                let value = slots[slot]
                if value == 0 { return -1 }
                if value >> 32 == hash >> 32 {
                    let entry = Int(value & 0xFFFF_FFFF) - 1
                    if equals(entry, word) { return ids[entry] }
                }
                slot = (slot + 1) & mask
            }
        }
    }

    /// The word has this number. For a word that follows the one before, this is faster than `find`.
    func has(_ id: TokenID, _ word: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let entry = entry(of: id) else { return false }
        return ids[entry] == id && equals(entry, word)
    }

    func find(_ word: [UInt8]) -> TokenID { word.withUnsafeBufferPointer { find($0) } }

    func find(_ word: String) -> TokenID { find(Array(word.utf8)) }

    private func equals(_ entry: Int, _ word: UnsafeBufferPointer<UInt8>) -> Bool {
        let (start, end) = (Int(starts[entry]), Int(starts[entry + 1]))
        guard end - start == word.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            let raw = UnsafeRawBufferPointer(word)
            var index = 0
            while index + 8 <= raw.count {
                guard
                    bytes.loadUnaligned(fromByteOffset: start + index, as: UInt64.self)
                        == raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                else { return false }
                index += 8
            }
            while index < raw.count {
                guard bytes[start + index] == raw[index] else { return false }
                index += 1
            }
            return true
        }
    }

    private func withWord<Result>(_ entry: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            body(UnsafeBufferPointer(rebasing: bytes[Int(starts[entry])..<Int(starts[entry + 1])]))
        }
    }

    private func entry(of id: TokenID) -> Int? {
        guard id >= 0 else { return nil }
        let entry = Int(id) < entries.count ? entries[Int(id)] : sparse[id] ?? 0
        return entry > 0 ? Int(entry) - 1 : nil
    }

    /// Calls `body` with the bytes of the token `id`; returns nil if there is none.
    func withToken<Result>(_ id: TokenID, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
        entry(of: id).map { withWord($0, body) }
    }

    /// Returns the token `id` as text; nil if there is none.
    func token(_ id: TokenID) -> String? { withToken(id) { String(decoding: $0, as: UTF8.self) } }

    /// The length in bytes of a token; 0 for none.
    func length(_ id: TokenID) -> Int { withToken(id) { $0.count } ?? 0 }

    /// Calls `body` for each word, in the order in which they were added.
    func forEach(_ body: (UnsafeBufferPointer<UInt8>, TokenID) -> Void) {
        for entry in ids.indices { withWord(entry) { body($0, ids[entry]) } }
    }

    /// Mixes the bytes, eight at a time.
    @inline(__always)
    static func hash(_ word: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let raw = UnsafeRawBufferPointer(word)
        var hash = UInt64(truncatingIfNeeded: word.count) &* 0x9E37_79B9_7F4A_7C15
        let count = raw.count
        var index = 0
        while index + 8 < count {
            hash = mix(hash ^ raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        // The last bytes, some of them perhaps for the second time.
        if count >= 8 {
            hash = mix(hash ^ raw.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
        } else if count >= 4 {
            let low = UInt64(raw.loadUnaligned(as: UInt32.self))
            let high = UInt64(raw.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
            hash = mix(hash ^ (high << 32 | low))
        } else if count > 0 {
            hash = mix(hash ^ (UInt64(raw[0]) << 16 | UInt64(raw[count / 2]) << 8 | UInt64(raw[count - 1])))
        }
        return mix(hash)
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }
}
