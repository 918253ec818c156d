/// Where buffers lie in one arena, so that buffers in use at the same time never overlap.
struct MemoryPlan {
    struct Buffer {
        var byteCount: Int
        /// The first and the last call that need it.
        var lifetime: ClosedRange<Int>
    }
    static let alignment = 64

    /// Bytes from the arena's start, by the buffer's index.
    private(set) var offsets: [Int]
    private(set) var arenaBytes = 0

    /// Largest first, each into the smallest gap that fits between the buffers alive with it.
    init(_ buffers: [Buffer]) {
        offsets = [Int](repeating: 0, count: buffers.count)
        var placed: [Int] = []
        let order = buffers.indices.sorted {
            (buffers[$1].byteCount, buffers[$0].lifetime.lowerBound, $0)
                < (buffers[$0].byteCount, buffers[$1].lifetime.lowerBound, $1)
        }
        for index in order {
            let size = Self.aligned(buffers[index].byteCount)
            let neighbours = placed.filter { buffers[$0].lifetime.overlaps(buffers[index].lifetime) }
                .map { (start: offsets[$0], end: offsets[$0] + Self.aligned(buffers[$0].byteCount)) }
                .sorted { $0.start < $1.start }
            var best: (gap: Int, offset: Int)?
            var free = 0
            for neighbour in neighbours {
                let gap = neighbour.start - free
                if gap >= size, best.map({ gap < $0.gap }) ?? true { best = (gap, free) }
                free = max(free, neighbour.end)
            }
            offsets[index] = best?.offset ?? free
            arenaBytes = max(arenaBytes, offsets[index] + size)
            placed.append(index)
        }
    }

    private static func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }
}
