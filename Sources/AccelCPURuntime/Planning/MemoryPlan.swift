import AccelByteIO

/// Where buffers lie in one arena, so that buffers in use at the same time never overlap.
struct MemoryPlan {
    struct Buffer {
        var byteCount: Int
        /// The first and the last call that need it.
        var lifetime: ClosedRange<Int>
    }
    static let alignment = 64
    /// No machine has as much memory; sums of two sizes stay far from overflow.
    static let maximumBytes = 1 << 40
    /// The work of planning is in proportion to the pairs of buffers that are in use at the same time. Decoders of a hundred
    /// layers have some ten thousand.
    static let maximumPairs = 1 << 24

    /// Bytes from the arena's start, by the buffer's index.
    private(set) var offsets: [Int]
    private(set) var arenaBytes = 0

    /// Largest first, each into the smallest gap that fits between the buffers alive with it.
    /// - Parameter name: of the function, for errors.
    /// - Throws: `RequestError` (unavailable) for more than `maximumBytes` or `maximumPairs`.
    init(_ buffers: [Buffer], of name: String) throws {
        offsets = [Int](repeating: 0, count: buffers.count)
        try Self.requirePlannable(buffers, of: name)
        let last = buffers.reduce(-1) { max($0, $1.lifetime.upperBound) }
        // Among the buffers with an offset: those alive at each call, and those whose lifetime begins with it.
        var alive = [[Int]](repeating: [], count: last + 1)
        var starting = alive
        let order = buffers.indices.sorted {
            (buffers[$1].byteCount, buffers[$0].lifetime.lowerBound, $0)
                < (buffers[$0].byteCount, buffers[$1].lifetime.lowerBound, $1)
        }
        for index in order {
            let (size, lifetime) = (Self.aligned(buffers[index].byteCount), buffers[index].lifetime)
            var neighbours = alive[lifetime.lowerBound]
            for call in lifetime.dropFirst() { neighbours += starting[call] }
            let taken = neighbours.map { (start: offsets[$0], end: offsets[$0] + Self.aligned(buffers[$0].byteCount)) }
                .sorted { $0.start < $1.start }
            var best: (gap: Int, offset: Int)?
            var free = 0
            for neighbour in taken {
                let gap = neighbour.start - free
                if gap >= size, best.map({ gap < $0.gap }) ?? true { best = (gap, free) }
                free = max(free, neighbour.end)
            }
            offsets[index] = best?.offset ?? free
            arenaBytes = max(arenaBytes, offsets[index] + size)
            guard arenaBytes <= Self.maximumBytes else { throw Self.tooLarge(name) }
            for call in lifetime { alive[call].append(index) }
            starting[lifetime.lowerBound].append(index)
        }
    }

    private static func requirePlannable(_ buffers: [Buffer], of name: String) throws {
        let starts = buffers.map(\.lifetime.lowerBound).sorted()
        var ends = buffers.map(\.lifetime.upperBound).sorted()[...]
        var (alive, pairs, lengths) = (0, 0, 0)
        for (start, buffer) in zip(starts, buffers) {
            while let end = ends.first, end < start {
                ends.removeFirst()
                alive -= 1
            }
            pairs += alive
            alive += 1
            lengths += buffer.lifetime.count
            guard buffer.byteCount <= maximumBytes else { throw tooLarge(name) }
            guard max(pairs, lengths) <= maximumPairs else {
                throw RequestError(
                    "function \(name) needs too many values at the same time for an execution plan",
                    status: .unavailable)
            }
        }
    }

    private static func tooLarge(_ name: String) -> RequestError {
        RequestError(
            "function \(name) needs more than \(maximumBytes >> 40) TiB for its values; choose smaller shapes",
            status: .unavailable)
    }

    private static func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }
}
