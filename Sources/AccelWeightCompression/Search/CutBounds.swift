/// Neighbouring numbers that are treated as one: those of a cell, or all between two cells that may be cut.
struct CellGroup {
    var count = 0.0
    /// The sum of x - origin.
    var sum = 0.0
    /// Its first position on the axis, and the number of positions.
    var position = 0
    var positions = 0
    /// It may contain a cut of the best partition.
    var isCell = false
}

/// Bounds on the cuts of the best partition of points, derived from partitions of whole groups.
///
/// Moving each cut to the border of its group costs at most `slack`. So a group can contain a cut only if some
/// partition of whole groups with a cut at one of its borders costs at most `slack` more than the best.
struct CutBounds {
    private let groups: [CellGroup]
    private let axis: CellAxis
    private let sums: PointSums
    private let k: Int
    /// The price of a run in the best partition.
    let price: Double
    /// The least costs up to each position, and from each position to the end (counted from the end).
    private let costs: [Double]
    private let ahead: [Double]
    private var least: Double { costs[sums.count] * (1 + 1e-9) }

    /// Returns nil if no price gives k runs, or if rounding could hide which partition is best.
    init?(_ groups: [CellGroup], on axis: CellAxis, k: Int, price hint: Double?) {
        let sums = PointSums(groups: groups)
        guard let best = PartitionSearch.priced(sums, k: k, price: hint) else { return nil }
        (self.groups, self.axis, self.sums, self.k) = (groups, axis, sums, k)
        (price, costs) = (best.price, best.costs)
        guard sums.noise <= 1e-10 * costs[sums.count] else { return nil }
        ahead = PartitionSearch.costs(PointSums(reversing: sums), price: best.price)
    }

    /// The groups that may contain a cut. Starts with a bound for all groups, and tightens it in rounds.
    var open: [Int] {
        let all = axis.width(1 << CellAxis.bits)
        var distances = [Double](repeating: all, count: groups.count)
        var open = groups.indices.filter { groups[$0].isCell }
        var slack = Double.infinity
        for _ in 0..<6 {
            let closer = self.slack(open, distances)
            guard closer < 0.8 * slack else { break }
            slack = closer
            open = open.filter { mayCut($0, slack: slack) || mayCut($0 + 1, slack: slack) }
            distances = self.distances(slack: slack)
        }
        return open
    }

    /// Returns the largest cost of moving all cuts to borders of groups. The points of a group move to another cluster
    /// that meets it; each costs at most 2 * its width * the distance of the centers.
    private func slack(_ open: [Int], _ distances: [Double]) -> Double {
        // The largest costs, descending.
        var largest: [Double] = []
        // A single point cannot be cut.
        for index in open where groups[index].count > 1 {
            let cost = 2 * groups[index].count * axis.width(groups[index].positions) * distances[index]
            if largest.count == k - 1 {
                guard let last = largest.last, cost > last else { continue }
                largest.removeLast()
            }
            largest.insert(cost, at: largest.firstIndex { $0 < cost } ?? largest.count)
        }
        return largest.reduce(0, +)
    }

    private func mean(_ start: Int, _ end: Int) -> Double {
        (sums.s1[end] - sums.s1[start]) / (sums.w[end] - sums.w[start])
    }

    private func mayCut(_ border: Int, slack: Double) -> Bool {
        costs[border] + ahead[sums.count - border] <= least + slack
    }

    /// Returns, for each group, the largest distance between the centers of clusters that meet in it. A cluster that
    /// contains everything between two borders is excluded if it costs too much even with the best partitions outside
    /// of it.
    private func distances(slack: Double) -> [Double] {
        // Borders that are close both by index and by position; groups of outliers are far apart in position.
        var (grid, gridIndex): ([Int], [Int]) = ([0], [])
        let (step, length) = (max(1, groups.count / 2048), 1 << CellAxis.bits - 11)
        for index in groups.indices {
            let last = grid[grid.count - 1]
            if index >= last + step || groups[index].position >= groups[last].position + length, index > last {
                grid.append(index)
            }
            gridIndex.append(grid.count - 1)
        }
        grid.append(groups.count)
        func isTooLong(_ low: Int, _ high: Int) -> Bool {
            let (start, end) = (grid[low], grid[high])
            let sum = sums.s1[end] - sums.s1[start]
            let error = sums.s2[end] - sums.s2[start] - sum * sum / (sums.w[end] - sums.w[start])
            return costs[start] + error + ahead[sums.count - end] - price > least + slack
        }
        // A cluster that extends beyond grid position i to the right starts after position lows[i]; highs mirrors this.
        var (lows, highs) = (grid.map { _ in 0 }, grid.map { _ in grid.count - 1 })
        for high in 1..<grid.count {
            lows[high] = lows[high - 1]
            while lows[high] + 1 < high, isTooLong(lows[high] + 1, high) { lows[high] += 1 }
        }
        for low in stride(from: grid.count - 2, through: 0, by: -1) {
            highs[low] = highs[low + 1]
            while highs[low] - 1 > low, isTooLong(low, highs[low] - 1) { highs[low] -= 1 }
        }
        return groups.indices.map { index in
            let (start, end) = (grid[lows[gridIndex[index]]], grid[highs[gridIndex[index] + 1]])
            // Only more distant points could move a center further, so the mean of all that the cluster may contain is
            // a bound.
            let (own, width) = (mean(index, index + 1), axis.width(groups[index].positions))
            let low = start < index ? mean(start, index) : own - width
            let high = index + 1 < end ? mean(index + 1, end) : own + width
            return high - low
        }
    }
}
