import AccelByteIO

/// The number of a token.
public typealias TokenID = Int32

/// The words of a model and their numbers, in one buffer of bytes and one flat hash table.
struct Vocabulary: Sendable {
    private var bytes: [UInt8] = []
    /// Where each word starts, and its number. At the end, where the next word will start.
    private var entries: [Entry] = [Entry(start: 0, id: -1)]
    /// Bits of the hash above the mask, and entry + 1 in those of the mask; 0 is free. The count is a power of 2, and at most 3/4 of the slots
    /// are in use: small slots stay in a cache.
    private var slots: [UInt32]
    private var mask: UInt32
    /// The entry + 1 of each number, while the numbers are dense; else `sparse` has them.
    private var byID: [UInt32] = []
    private var sparse: [TokenID: UInt32] = [:]

    private struct Entry {
        var start: UInt32
        var id: TokenID
    }

    /// - Parameter count: the expected number of words. More and fewer are possible.
    init(expecting count: Int = 0) {
        var capacity = 16
        while capacity * 3 < count * 4 { capacity *= 2 }
        slots = [UInt32](repeating: 0, count: capacity)
        mask = UInt32(capacity - 1)
        entries.reserveCapacity(count + 1)
        byID.reserveCapacity(count)
    }

    /// Checks that the words of a source fit in a vocabulary.
    /// - Parameter byteCount: the size of the source, which is at least that of its words.
    static func checkSize(_ byteCount: Int, file: String) throws(FormatError) {
        guard byteCount < Int(Int32.max) else {
            throw FormatError(file: file, reason: "a tokenizer of \(byteCount) bytes is not supported")
        }
    }

    /// The number of different words.
    var count: Int { entries.count - 1 }

    /// Adds a word. A word that is present gets the new number.
    mutating func add(_ word: UnsafeBufferPointer<UInt8>, _ id: TokenID) {
        let entry = entry(adding: word)
        setID(of: entry, id)
    }

    /// Returns the entry of a word, which is added if it is new. It needs a number then.
    mutating func entry(adding word: UnsafeBufferPointer<UInt8>) -> Int {
        let hash = Self.hash(word)
        let (found, slot) = search(word, hash)
        if found >= 0 { return found }
        let entry = count
        slots[slot] = Self.tag(hash) & ~mask | UInt32(entry + 1)
        bytes.append(contentsOf: word)
        entries.append(Entry(start: UInt32(bytes.count), id: -1))
        if entries.count * 4 > slots.count * 3 { grow() }
        return entry
    }

    /// Sets the number of an entry.
    mutating func setID(of entry: Int, _ id: TokenID) {
        entries[entry].id = id
        if Int(id) == byID.count {
            byID.append(UInt32(entry + 1))
        } else if Int(id) < byID.count {
            byID[Int(id)] = UInt32(entry + 1)
        } else if Int(id) <= byID.count * 2 + 1024 {
            byID.append(contentsOf: repeatElement(0, count: Int(id) - byID.count))
            byID.append(UInt32(entry + 1))
        } else {
            sparse[id] = UInt32(entry + 1)
        }
    }

    mutating func add(_ word: String, _ id: TokenID) {
        Array(word.utf8).withUnsafeBufferPointer { add($0, id) }
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        mask = UInt32(slots.count - 1)
        for entry in 0..<count {
            let hash = withWord(entry) { Self.hash($0) }
            var slot = UInt32(truncatingIfNeeded: hash) & mask
            while slots[Int(slot)] != 0 { slot = (slot + 1) & mask }
            slots[Int(slot)] = Self.tag(hash) & ~mask | UInt32(entry + 1)
        }
    }

    @inline(__always)
    private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

    /// Returns the entry of a word, and its slot; -1 for none, and the slot where it would be.
    @inline(__always)
    private func search(_ word: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> (entry: Int, slot: Int) {
        let tag = Self.tag(hash) & ~mask
        return slots.withUnsafeBufferPointer { slots in
            var slot = UInt32(truncatingIfNeeded: hash) & mask
            while true {
                let value = slots[Int(slot)]
                if value == 0 { return (-1, Int(slot)) }
                if value & ~mask == tag {
                    let entry = Int(value & mask) - 1
                    if withWord(entry, { Self.equal($0, word) }) { return (entry, Int(slot)) }
                }
                slot = (slot + 1) & mask
            }
        }
    }

    /// Returns the entry of a word; -1 for none.
    func entry(of word: UnsafeBufferPointer<UInt8>) -> Int { search(word, Self.hash(word)).entry }

    /// Returns the number of a word; -1 for none.
    func find(_ word: UnsafeBufferPointer<UInt8>) -> TokenID {
        let entry = entry(of: word)
        return entry >= 0 ? id(of: entry) : -1
    }

    /// The number of an entry.
    @inline(__always)
    func id(of entry: Int) -> TokenID { entries[entry].id }

    /// The word with this number is that of an entry with `rest` after it. For a word that follows the one before, this is faster than
    /// `find`.
    func has(_ id: TokenID, _ first: Int, then rest: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let entry = entry(of: id), entries[entry].id == id else { return false }
        return withWord(entry) { word in
            withWord(first) { first in
                word.count == first.count + rest.count
                    && Self.equal(UnsafeBufferPointer(rebasing: word[..<first.count]), first)
                    && Self.equal(UnsafeBufferPointer(rebasing: word[first.count...]), rest)
            }
        }
    }

    func find(_ word: [UInt8]) -> TokenID { word.withUnsafeBufferPointer { find($0) } }

    func find(_ word: String) -> TokenID { find(Array(word.utf8)) }

    @inline(__always)
    private static func equal(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        let (one, other) = (UnsafeRawBufferPointer(one), UnsafeRawBufferPointer(other))
        var index = 0
        while index + 8 <= one.count {
            guard
                one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            else { return false }
            index += 8
        }
        while index < one.count {
            guard one[index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    @inline(__always)
    func withWord<Result>(_ entry: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let (start, end) = (Int(entries[entry].start), Int(entries[entry + 1].start))
        return bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<end])) }
    }

    private func entry(of id: TokenID) -> Int? {
        guard id >= 0 else { return nil }
        let entry = Int(id) < byID.count ? byID[Int(id)] : sparse[id] ?? 0
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

    /// Returns a trie of the words that begin with a prefix, without it.
    func trie(after prefix: [UInt8] = []) -> PrefixTrie {
        var words: [PrefixTrie.Word] = []
        words.reserveCapacity(count)
        for entry in 0..<count where prefix.isEmpty || withWord(entry, { $0.starts(with: prefix) }) {
            let (start, end) = (Int(entries[entry].start), Int(entries[entry + 1].start))
            words.append(PrefixTrie.Word(start + prefix.count..<end, value: entries[entry].id, in: bytes))
        }
        return PrefixTrie(words, in: bytes)
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
