import Tensors

/// Exact k-means of very many points, without sorting them all.
///
/// Points fall into cells of equal width. The best partition of whole cells is quick to find, and it bounds where the cuts
/// of the best partition of points can lie: moving the cuts of that one to the borders of the cells in which they lie
/// costs at most `slack`, so a cell holds a cut only if a partition of whole cells that is forced to cut at one of its
/// borders costs at most `slack` more than the best. Points of such cells are sorted and searched; the others are never
/// separated from their cell.
enum CellSearch {
    /// Fewer points are as quickly sorted.
    static let leastCount = 1 << 16

    private struct Cell {
        var count = 0.0
        /// Of x - origin.
        var sum = 0.0
    }

    /// The centers; nil where cells do not help (few distinct values, outliers beyond measure, many entries).
    /// - Parameters:
    ///   - parts: into how many the points are cut, which up to `threads` threads go through.
    ///   - forEachBlock: calls its argument with all points of a part, block by block, in any order; it is called thrice
    ///     for each.
    static func centers(
        count: Int, k: Int, parts: Int, threads: Int,
        _ forEachBlock: @Sendable (_ part: Int, (UnsafeBufferPointer<Float>) -> Void) throws -> Void
    ) throws -> [Double]? {
        let extremes = try Parallel.map(parts, threads: threads) { part in
            var (low, high) = (Float.infinity, -Float.infinity)
            try forEachBlock(part) { block in
                let extremes = block.extremes
                (low, high) = (min(low, extremes.low), max(high, extremes.high))
            }
            return (low: low, high: high)
        }
        let low = extremes.reduce(Float.infinity) { min($0, $1.low) }
        let high = extremes.reduce(-Float.infinity) { max($0, $1.high) }
        let cellCount = min(1 << 16, count / 6)
        let perUnit = Float(cellCount - 1) / (high - low)
        guard high - low > 0, (high - low).isFinite, perUnit.isFinite else { return nil }
        /// Rounded to nearest, in the last bits; rises with x.
        @inline(__always) @Sendable func cell(_ x: Float) -> Int {
            Int(truncatingIfNeeded: ((x - low) * perUnit + 0x1p23).bitPattern & 0x1_FFFF)
        }

        let origin = Double(low) + (Double(high) - Double(low)) / 2
        let cellsOfParts = try Parallel.map(parts, threads: threads) { part in
            var cells = [Cell](repeating: Cell(), count: cellCount)
            try cells.withUnsafeMutableBufferPointer { cells in
                try forEachBlock(part) { block in
                    for x in block {
                        let index = cell(x)
                        cells[index].count += 1
                        cells[index].sum += Double(x) - origin
                    }
                }
            }
            return cells
        }
        var cells = cellsOfParts[0]
        for others in cellsOfParts.dropFirst() {
            for index in cells.indices {
                cells[index].count += others[index].count
                cells[index].sum += others[index].sum
            }
        }

        let filled = cells.indices.filter { cells[$0].count > 0 }
        guard filled.count >= 16 * k else { return nil }
        let sums = PointSums(groups: filled.map { (cells[$0].count, cells[$0].sum) })
        guard let coarse = PartitionSearch.priced(sums, k: k) else { return nil }
        let ahead = PartitionSearch.costs(PointSums(reversing: sums), price: coarse.price)
        let open = openCells(
            CutBounds(
                sums: sums, coarse: coarse, ahead: ahead, cells: filled, counts: filled.map { cells[$0].count },
                // A hundredth wider than they should be, for rounding.
                width: 1.01 * (Double(high) - Double(low)) / Double(cellCount - 1)), k: k)
        var isOpen = [Bool](repeating: false, count: cellCount)
        var openCount = 0
        for position in open {
            isOpen[filled[position]] = true
            openCount += Int(cells[filled[position]].count)
        }
        guard openCount <= count / 3 else { return nil }
        let flags = isOpen
        let pointsOfParts = try Parallel.map(parts, threads: threads) { part in
            var points: [Float] = []
            try flags.withUnsafeBufferPointer { flags in
                try forEachBlock(part) { block in
                    for x in block where flags[cell(x)] { points.append(x) }
                }
            }
            return points
        }
        var points: [Float] = []
        points.reserveCapacity(openCount)
        for others in pointsOfParts { points += others }
        sort(&points)

        // What no cut separates is one group.
        var groups: [(weight: Double, sum: Double)] = []
        var (next, closed) = (0, Cell())
        func close() {
            if closed.count > 0 { groups.append((closed.count, closed.sum)) }
            closed = Cell()
        }
        for index in filled {
            if isOpen[index] {
                close()
                for _ in 0..<Int(cells[index].count) {
                    groups.append((1, Double(points[next]) - origin))
                    next += 1
                }
            } else {
                closed.count += cells[index].count
                closed.sum += cells[index].sum
            }
        }
        close()
        let fine = PointSums(groups: groups)
        let ends = PartitionSearch.best(fine, k: k, price: coarse.price)
        guard ends.count == k, fine.noise <= 1e-10 * fine.error(ends) else { return nil }
        return fine.means(ends).map { origin + $0 }
    }

    /// The cells that may hold a cut, as positions among the filled ones: from a bound for all, round by round closer.
    private static func openCells(_ bounds: CutBounds, k: Int) -> [Int] {
        var distances = [Double](
            repeating: Double(bounds.cells[bounds.cells.count - 1] - bounds.cells[0] + 1), count: bounds.cells.count)
        var open = Array(bounds.cells.indices)
        var slack = Double.infinity
        for _ in 0..<6 {
            let closer = bounds.slack(open, distances, cuts: k - 1)
            guard closer < 0.8 * slack else { break }
            slack = closer
            open = open.filter { bounds.mayCut($0, slack: slack) || bounds.mayCut($0 + 1, slack: slack) }
            distances = bounds.distances(slack: slack)
        }
        return open
    }

    private static func sort(_ points: inout [Float]) {
        points.withUnsafeMutableBufferPointer { points in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(points.count, 1)) { scratch in
                RadixSort.sort(points, scratch: UnsafeMutableBufferPointer(rebasing: scratch[..<points.count]))
            }
        }
    }
}

/// What the best partitions of whole cells say about the cuts of the best partition of points.
private struct CutBounds {
    let sums: PointSums
    let coarse: (price: Double, ends: PartitionSearch.Ends, costs: [Double])
    /// Least costs from a position to the end, counted from the end.
    let ahead: [Double]
    /// The filled cells and their points.
    let cells: [Int]
    let counts: [Double]
    let width: Double

    private var least: Double { coarse.costs[sums.count] * (1 + 1e-9) }

    /// What it costs at most to move all cuts to borders of cells: a cell's points go to another of the clusters that
    /// meet in it, each at most 2 * width * the distance of the centers.
    func slack(_ open: [Int], _ distances: [Double], cuts: Int) -> Double {
        open.map { 2 * counts[$0] * width * distances[$0] * width }.sorted(by: >).prefix(cuts).reduce(0, +)
    }

    func mayCut(_ position: Int, slack: Double) -> Bool {
        coarse.costs[position] + ahead[sums.count - position] <= least + slack
    }

    /// For each cell, how far apart (in cells) the centers of clusters that meet in it are at most. A cluster that holds
    /// all between two positions costs too much where even the best partitions outside of them cannot make up for it.
    func distances(slack: Double) -> [Double] {
        let step = max(1, sums.count / 2048)
        let grid = Array(stride(from: 0, to: sums.count, by: step)) + [sums.count]
        func isTooLong(_ low: Int, _ high: Int) -> Bool {
            let (start, end) = (grid[low], grid[high])
            let sum = sums.s1[end] - sums.s1[start]
            let error = sums.s2[end] - sums.s2[start] - sum * sum / (sums.w[end] - sums.w[start])
            return coarse.costs[start] + error + ahead[sums.count - end] - coarse.price > least + slack
        }
        // A cluster that reaches beyond grid position i to the right starts after position lows[i], and so on.
        var (lows, highs) = (grid.map { _ in 0 }, grid.map { _ in grid.count - 1 })
        for high in 1..<grid.count {
            lows[high] = lows[high - 1]
            while lows[high] + 1 < high, isTooLong(lows[high] + 1, high) { lows[high] += 1 }
        }
        for low in stride(from: grid.count - 2, through: 0, by: -1) {
            highs[low] = highs[low + 1]
            while highs[low] - 1 > low, isTooLong(low, highs[low] - 1) { highs[low] -= 1 }
        }
        return cells.indices.map { position in
            let before = position / step
            let after = min((position + step) / step, grid.count - 1)
            let (first, last) = (grid[lows[before]], min(grid[highs[after]], cells.count - 1))
            return Double(cells[last] - cells[first] + 1)
        }
    }
}
