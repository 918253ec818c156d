/// Merges the symbols of a word: the pair of the lowest rank first, the leftmost of equal ones.
struct PairMerger: Sendable {
    private var ids: [TokenID] = []
    private var lengths: [Int32] = []
    /// The merge of each symbol with the next one, as rank << 32 | merged token; `MergeTable.none` if they do not merge.
    private var results: [UInt64] = []
    private var next: [Int32] = []
    private var previous: [Int32] = []
    /// A binary heap of rank << 32 | index of the left symbol.
    private var heap: [UInt64] = []
    private static let rankBits: UInt64 = 0xFFFF_FFFF_0000_0000
    /// Longer words use the heap.
    private static let shortWord = 32

    mutating func begin() {
        ids.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    mutating func add(_ id: TokenID, _ length: Int) {
        ids.append(id)
        lengths.append(Int32(truncatingIfNeeded: length))
    }

    /// Merges, and appends the tokens.
    mutating func finish(_ merges: MergeTable, to output: inout TokenOutput) {
        if ids.count <= Self.shortWord {
            mergeShort(merges)
            var start: Int32 = 0
            for index in ids.indices {
                output.append(ids[index], start, start &+ lengths[index])
                start = start &+ lengths[index]
            }
        } else {
            mergeLong(merges)
            var start: Int32 = 0
            var index = 0
            while index >= 0 {
                output.append(ids[index], start, start &+ lengths[index])
                start = start &+ lengths[index]
                index = Int(next[index])
            }
        }
    }

    private mutating func mergeShort(_ merges: MergeTable) {
        var count = ids.count
        guard count > 1 else { return }
        results.removeAll(keepingCapacity: true)
        for index in 0..<count - 1 { results.append(merges.find(ids[index], ids[index + 1])) }
        ids.withUnsafeMutableBufferPointer { ids in
            lengths.withUnsafeMutableBufferPointer { lengths in
                results.withUnsafeMutableBufferPointer { results in
                    while count > 1 {
                        var best = MergeTable.none
                        var at = 0
                        for index in 0..<count - 1 where results[index] >> 32 < best >> 32 {
                            best = results[index]
                            at = index
                        }
                        if best == MergeTable.none { break }
                        ids[at] = TokenID(truncatingIfNeeded: best)
                        lengths[at] &+= lengths[at + 1]
                        count -= 1
                        for index in at + 1..<max(count, at + 1) {
                            ids[index] = ids[index + 1]
                            lengths[index] = lengths[index + 1]
                        }
                        for index in at..<max(count - 1, at) { results[index] = results[index + 1] }
                        if at > 0 { results[at - 1] = merges.find(ids[at - 1], ids[at]) }
                        if at < count - 1 { results[at] = merges.find(ids[at], ids[at + 1]) }
                    }
                }
            }
        }
        ids.removeLast(ids.count - count)
        lengths.removeLast(lengths.count - count)
    }

    private mutating func mergeLong(_ merges: MergeTable) {
        let count = ids.count
        results.removeAll(keepingCapacity: true)
        next.removeAll(keepingCapacity: true)
        previous.removeAll(keepingCapacity: true)
        heap.removeAll(keepingCapacity: true)
        for index in 0..<count {
            next.append(index + 1 < count ? Int32(index + 1) : -1)
            previous.append(Int32(index - 1))
            results.append(index + 1 < count ? merges.find(ids[index], ids[index + 1]) : MergeTable.none)
            if results[index] != MergeTable.none { heap.append(results[index] & Self.rankBits | UInt64(index)) }
        }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
        while let top = heap.first {
            let last = heap.removeLast()
            if !heap.isEmpty {
                heap[0] = last
                sink(0)
            }
            let left = Int(top & 0xFFFF_FFFF)
            // An older entry of a symbol that has changed since.
            guard results[left] != MergeTable.none, results[left] >> 32 == top >> 32 else { continue }
            let right = Int(next[left])
            ids[left] = TokenID(truncatingIfNeeded: results[left])
            lengths[left] &+= lengths[right]
            results[right] = MergeTable.none
            next[left] = next[right]
            if next[left] >= 0 { previous[Int(next[left])] = Int32(left) }
            update(left, merges)
            if previous[left] >= 0 { update(Int(previous[left]), merges) }
        }
    }

    private mutating func update(_ left: Int, _ merges: MergeTable) {
        guard next[left] >= 0 else {
            results[left] = MergeTable.none
            return
        }
        results[left] = merges.find(ids[left], ids[Int(next[left])])
        guard results[left] != MergeTable.none else { return }
        heap.append(results[left] & Self.rankBits | UInt64(left))
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var parent = index
        while true {
            var child = parent * 2 + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
