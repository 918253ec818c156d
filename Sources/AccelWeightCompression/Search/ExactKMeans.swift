/// Exact one-dimensional k-means: optimal partitions of the sorted numbers, where each cluster is a run. There are no
/// seeds, and no iterations that may end in a local optimum.
enum ExactKMeans {
    /// Returns the centers, ascending: `k` of them, or as many as there are distinct points.
    /// - Parameter points: finite; the call sorts them.
    static func centers(of points: UnsafeMutableBufferPointer<Float>, k: Int) -> [Double] {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: max(points.count, 1)) { scratch in
            RadixSort.sort(points, scratch: UnsafeMutableBufferPointer(rebasing: scratch[..<points.count]))
        }
        let sorted = UnsafeBufferPointer(points)
        if let few = distinct(sorted, atMost: k) { return few.map(Double.init) }
        return centers(of: sorted, weights: nil, sums: PointSums(sorted), k: k)
    }

    /// Returns the centers of weighted points, which are already sorted; weights are positive.
    static func centers(
        of sorted: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>, k: Int
    ) -> [Double] {
        if let few = distinct(sorted, atMost: k) { return few.map(Double.init) }
        return centers(of: sorted, weights: weights, sums: PointSums(sorted, weights: weights), k: k)
    }

    private static func centers(
        of sorted: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>?, sums: PointSums, k: Int
    ) -> [Double] {
        var ends = PartitionSearch.best(sums, k: k)
        // For few points in tight, distant clusters, the precision of the sums may not suffice to compare partitions.
        let isFew = sorted.count <= 512
        var noise = sums.noise
        if isFew, let weights { noise *= (weights.max() ?? 1) / (weights.min() ?? 1) }
        let isDoubtful = noise > (isFew ? 1e-13 : 1e-10) * sums.error(ends)
        if isDoubtful, sorted.count * k <= 1 << 22 {
            ends = PreciseRuns(sorted, weights: weights).bestEnds(k: k)
        }
        return converged(ends, of: sorted, weights: weights)
    }

    /// Returns the distinct values; nil if there are more than `limit`.
    private static func distinct(_ sorted: UnsafeBufferPointer<Float>, atMost limit: Int) -> [Float]? {
        var values: [Float] = []
        for value in sorted where value != values.last {
            if values.count == limit { return nil }
            values.append(value)
        }
        return values
    }

    /// Returns centers computed from the points themselves. The search uses running sums, whose rounding can misplace
    /// an end by a few points if two clusters hardly differ. So ends are moved to the middle between centers until none
    /// moves.
    private static func converged(
        _ ends: [Int32], of sorted: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>?
    ) -> [Double] {
        var ends = ends.map { Int($0) }
        var centers: [Double] = []
        for _ in 0..<16 {
            centers = zip([0] + ends, ends).map { start, end in mean(sorted, weights, start..<end) }
            var moved = false
            for cluster in 0..<centers.count - 1 {
                let middle = (centers[cluster] + centers[cluster + 1]) / 2
                let old = ends[cluster]
                while ends[cluster] > (cluster == 0 ? 1 : ends[cluster - 1] + 1),
                    Double(sorted[ends[cluster] - 1]) > middle
                {
                    ends[cluster] -= 1
                }
                while ends[cluster] < ends[cluster + 1] - 1, Double(sorted[ends[cluster]]) < middle {
                    ends[cluster] += 1
                }
                moved = moved || ends[cluster] != old
            }
            if !moved { break }
        }
        return centers
    }

    private static func mean(
        _ sorted: UnsafeBufferPointer<Float>, _ weights: UnsafeBufferPointer<Double>?, _ run: Range<Int>
    ) -> Double {
        // Relative to the run's first point, so that a large offset does not cost precision.
        let origin = Double(sorted[run.lowerBound])
        var (sum, weight) = (0.0, 0.0)
        if let weights {
            for index in run {
                sum += weights[index] * (Double(sorted[index]) - origin)
                weight += weights[index]
            }
        } else {
            for index in run { sum += Double(sorted[index]) - origin }
            weight = Double(run.count)
        }
        return origin + sum / weight
    }
}
