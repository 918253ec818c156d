import AccelPlatform
import CAccelKernels

/// Finds the partition of sorted points into exactly `k` runs with the least squared error.
///
/// The least error D(k) is convex in k, because the cost of runs has the Monge property. So with a price per run, the
/// optimum has fewer runs the higher the price. A pass finds the best partition for one price; the search adjusts the
/// price until there are k runs. If the error is linear between k1 < k and k2 > k runs, no price gives k alone: then
/// the two partitions, both optimal at the same price, are combined into one of k runs (Aggarwal, Schieber and
/// Tokuyama, "Finding a minimum-weight k-link path in graphs with the concave Monge property", 1994).
struct PartitionSearch {
    /// The ends of the runs: ascending positions, the last of which is the number of points.
    typealias Ends = [Int32]

    private struct Partition {
        let price: Double
        /// The squared error plus the price of each run.
        let cost: Double
        let ends: Ends
        let error: Double
        var count: Int { ends.count }
    }

    private let points: PointSums
    private let cost: UnsafeMutablePointer<Double>
    private let scratch: UnsafeMutablePointer<Double>
    private let previous: UnsafeMutablePointer<Int32>

    /// Returns the ends of the best partition.
    /// - Precondition: there are at least `k` points.
    static func best(_ points: PointSums, k: Int) -> Ends {
        with(points) { $0.best(k: k, startingAt: hint(points, k: k)).ends }
    }

    /// Returns a price for which k runs are best, with the least cost (error plus price per run) up to each position;
    /// nil if no price gives k runs.
    /// - Parameter price: a first guess; nil if there is none.
    static func priced(_ points: PointSums, k: Int, price: Double?) -> (price: Double, costs: [Double])? {
        with(points) { search in
            let found = search.best(k: k, startingAt: price ?? hint(points, k: k))
            guard found.isPriced else { return nil }
            return (found.price, Array(UnsafeBufferPointer(start: search.cost, count: points.count + 1)))
        }
    }

    /// Returns the least cost up to each position.
    static func costs(_ points: PointSums, price: Double) -> [Double] {
        with(points) { search in
            _ = search.pass(price)
            return Array(UnsafeBufferPointer(start: search.cost, count: points.count + 1))
        }
    }

    /// Returns the ends of the best partition, starting from a price close to the right one.
    static func best(_ points: PointSums, k: Int, price: Double) -> Ends {
        with(points) { $0.best(k: k, startingAt: price).ends }
    }

    private static func with<Result>(_ points: PointSums, _ body: (PartitionSearch) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: Double.self, capacity: 2 * points.count + 2) { sums in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: points.count + 1) { previous in
                // A buffer of at least one element has a base address.
                body(
                    PartitionSearch(
                        points: points, cost: sums.baseAddress!, scratch: sums.baseAddress! + points.count + 1,
                        previous: previous.baseAddress!))
            }
        }
    }

    /// Returns a price that very likely gives k runs.
    private static func hint(_ points: PointSums, k: Int) -> Double {
        // The law of Panter and Dite for a normal distribution.
        let law = 2 * 2.72 * points.energy / pow(Double(k), 3)
        guard points.count >= 32 * k, k > 1, points.count >= 1024 else { return law }
        // A search over few positions is very fast. Every price between D(k-1) - D(k) and D(k) - D(k+1) gives k runs,
        // and the middle is far from both ends.
        return with(PointSums(points, at: coarsePositions(points.count, stride: points.count / max(128, 8 * k)))) {
            search in
            let (ends, price, _) = search.best(k: k, startingAt: law)
            let step = pow(Double(k + 1) / Double(k), 3)
            let errors = [
                search.points.error(search.best(k: k - 1, startingAt: price * step).ends), search.points.error(ends),
                search.points.error(search.best(k: k + 1, startingAt: price / step).ends),
            ]
            let middle = ((errors[0] - errors[1]) * (errors[1] - errors[2])).squareRoot()
            return middle > 0 ? middle : price
        }
    }

    /// Returns positions from 0 to `count` with a spacing of `stride`, denser towards both ends, where runs have few
    /// points.
    private static func coarsePositions(_ count: Int, stride: Int) -> [Int] {
        var (head, tail) = ([0], [count])
        while head[head.count - 1] < tail[tail.count - 1] {
            let (low, high) = (head[head.count - 1], tail[tail.count - 1])
            let step = max(1, min(stride, low / 8))
            if high - low <= 2 * step { break }
            head.append(low + step)
            tail.append(high - step)
        }
        return head + tail.reversed()
    }

    private func best(k: Int, startingAt hint: Double) -> (ends: Ends, price: Double, isPriced: Bool) {
        // The best known partitions on either side of k runs. A single run needs no pass.
        var few = Partition(price: .infinity, cost: .infinity, ends: [Int32(points.count)], error: points.energy)
        if k == 1 { return (few.ends, hint, false) }
        var many: Partition?
        let noise = 1e-15 * Double(k) * points.energy
        var price = hint
        var meeting = Double.nan
        for _ in 0..<200 {
            let found = pass(price)
            if found.count == k { return (found.ends, price, true) }
            if let many, price == meeting, found.cost >= many.error + price * Double(many.count) - noise {
                return (crossing(few, many, k: k), price, false)
            }
            if found.count > k { many = found } else { few = found }
            guard let many else {
                // Still too few runs. Their number is proportional to the inverse cube root of the price.
                price *= max(1e-9, 0.9 * pow(Double(found.count) / Double(k), 3))
                if price < .leastNormalMagnitude { break }
                continue
            }
            // The price at which the two cost the same; a partition that costs less there is between them.
            meeting = (few.error - many.error) / Double(many.count - few.count)
            let guess = many.price * pow(Double(many.count) / (Double(k) + 0.5), 3)
            let isFar = abs(found.count - k) > 2 && guess > many.price && guess < few.price
            let next = isFar ? guess : meeting
            if next == price { break }
            price = next
        }
        return (many.map { crossing(few, $0, k: k) } ?? few.ends, price, false)
    }

    private func pass(_ price: Double) -> Partition {
        ck_partition(points.w, points.s1, points.s2, points.reciprocal, points.count, price, cost, scratch, previous)
        var ends: Ends = []
        var position = Int32(points.count)
        while position > 0 {
            ends.append(position)
            position = previous[Int(position)]
        }
        let total = cost[points.count]
        return Partition(price: price, cost: total, ends: ends.reversed(), error: total - price * Double(ends.count))
    }

    /// Combines a partition with fewer and one with more runs into one of k runs that costs no more than the line
    /// between them: the first runs of `many`, up to a run that lies within a run of `few`, then the rest of `few`.
    private func crossing(_ few: Partition, _ many: Partition, k: Int) -> Ends {
        let shift = k - few.count
        func start(_ ends: Ends, _ run: Int) -> Int32 { run == 0 ? 0 : ends[run - 1] }
        for run in 0..<few.count
        where start(few.ends, run) <= start(many.ends, run + shift) && many.ends[run + shift] <= few.ends[run] {
            return Array(many.ends[..<(run + shift)] + few.ends[run...])
        }
        return many.ends
    }
}
