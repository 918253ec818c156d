/// A pair of tokens that is merged.
struct Merge: Sendable {
    /// left << 32 | right.
    fileprivate let pair: UInt64
    /// rank << 32 | number of the merged token.
    fileprivate let result: UInt64

    init(_ left: TokenID, _ right: TokenID, rank: Int, _ merged: TokenID) {
        self.init(pair: MergeTable.pair(left, right), result: UInt64(rank) << 32 | UInt64(UInt32(bitPattern: merged)))
    }

    var left: TokenID { TokenID(truncatingIfNeeded: pair >> 32) }
    var right: TokenID { TokenID(truncatingIfNeeded: pair) }
    var rank: UInt32 { UInt32(truncatingIfNeeded: result >> 32) }

    fileprivate init(pair: UInt64, result: UInt64) { (self.pair, self.result) = (pair, result) }
}

/// The pairs of tokens that are merged, in one flat hash table.
struct MergeTable: Sendable {
    /// The count is a power of 2, and at most half of the slots are in use.
    private var slots: [Merge]
    private let mask: Int
    private static let free = UInt64.max
    /// The result of pairs that are not merged: the largest rank.
    static let none = UInt64.max

    /// - Parameter merges: of equal pairs the last one counts.
    init(_ merges: [Merge] = []) {
        var capacity = 16
        while capacity < merges.count * 2 { capacity *= 2 }
        mask = capacity - 1
        slots = [Merge](repeating: Merge(pair: Self.free, result: 0), count: capacity)
        let byRegion = Self.orderedByRegion(merges, mask)
        slots.withUnsafeMutableBufferPointer { slots in
            for merge in byRegion {
                var slot = Self.hash(merge.pair) & mask
                while slots[slot].pair != Self.free, slots[slot].pair != merge.pair { slot = (slot + 1) & mask }
                slots[slot] = merge
            }
        }
    }

    /// Orders merges by 64 regions of the table: while one is filled, it is in a cache. Within a region they keep their order.
    private static func orderedByRegion(_ merges: [Merge], _ mask: Int) -> [Merge] {
        let shift = max(0, (mask + 1).trailingZeroBitCount - 6)
        var starts = [Int](repeating: 0, count: 64)
        for merge in merges { starts[(hash(merge.pair) & mask) >> shift] += 1 }
        var sum = 0
        for region in starts.indices { (starts[region], sum) = (sum, sum + starts[region]) }
        return [Merge](unsafeUninitializedCapacity: merges.count) { ordered, count in
            for merge in merges {
                let region = (hash(merge.pair) & mask) >> shift
                ordered.initializeElement(at: starts[region], to: merge)
                starts[region] += 1
            }
            count = merges.count
        }
    }

    @inline(__always)
    private static func hash(_ pair: UInt64) -> Int {
        let mixed = pair &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    @inline(__always)
    fileprivate static func pair(_ left: TokenID, _ right: TokenID) -> UInt64 {
        UInt64(UInt32(bitPattern: left)) << 32 | UInt64(UInt32(bitPattern: right))
    }

    /// Returns rank << 32 | merged token; `none` for a pair that is not merged.
    @inline(__always)
    func find(_ left: TokenID, _ right: TokenID) -> UInt64 {
        let pair = Self.pair(left, right)
        return slots.withUnsafeBufferPointer { slots in
            var slot = Self.hash(pair) & mask
            while slots[slot].pair != pair {
                if slots[slot].pair == Self.free { return Self.none }
                slot = (slot + 1) & mask
            }
            return slots[slot].result
        }
    }
}
