/// The pairs of tokens that are merged, in one flat hash table.
struct MergeTable: Sendable {
    /// The pair: left << 32 | right. `free` where there is none.
    private var pairs: [UInt64]
    /// rank << 32 | number of the merged token.
    private var results: [UInt64]
    private var mask: Int
    private var count = 0
    private static let free = UInt64.max
    /// The result of pairs that are not merged: the largest rank.
    static let none = UInt64.max

    init(expecting count: Int = 0) {
        var capacity = 16
        while capacity < count * 2 { capacity *= 2 }
        pairs = [UInt64](repeating: Self.free, count: capacity)
        results = [UInt64](repeating: 0, count: capacity)
        mask = capacity - 1
    }

    @inline(__always)
    private static func slot(_ pair: UInt64) -> Int {
        let mixed = pair &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    /// Adds a pair. A pair that is present gets the new result.
    mutating func add(_ left: TokenID, _ right: TokenID, rank: Int, _ merged: TokenID) {
        let pair = UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
        insert(pair, UInt64(rank) << 32 | UInt64(UInt32(bitPattern: merged)))
        guard count * 2 > pairs.count else { return }
        let (oldPairs, oldResults) = (pairs, results)
        pairs = [UInt64](repeating: Self.free, count: oldPairs.count * 2)
        results = [UInt64](repeating: 0, count: oldPairs.count * 2)
        mask = pairs.count - 1
        count = 0
        for (pair, result) in zip(oldPairs, oldResults) where pair != Self.free { insert(pair, result) }
    }

    private mutating func insert(_ pair: UInt64, _ result: UInt64) {
        var slot = Self.slot(pair) & mask
        while pairs[slot] != Self.free, pairs[slot] != pair { slot = (slot + 1) & mask }
        if pairs[slot] == Self.free { count += 1 }
        pairs[slot] = pair
        results[slot] = result
    }

    /// Returns rank << 32 | merged token; `none` for a pair that is not merged.
    @inline(__always)
    func find(_ left: TokenID, _ right: TokenID) -> UInt64 {
        let pair = UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
        return pairs.withUnsafeBufferPointer { pairs in
            var slot = Self.slot(pair) & mask
            while pairs[slot] != pair {
                if pairs[slot] == Self.free { return Self.none }
                slot = (slot + 1) & mask
            }
            return results[slot]
        }
    }
}
