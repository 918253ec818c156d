import CKernels
import Foundation

/// Finds the partition of sorted points into exactly `k` runs that has the least squared error.
///
/// The least error D(k) is convex in k (the cost of runs has the Monge property), so a price for each run picks out its
/// optima: raise the price and the best partition has fewer runs. A pass finds the best partition for one price; the
/// search narrows the price until it has k runs. Where the error falls on a straight line from k1 < k to k2 > k runs, no
/// price gives k alone: then the two partitions, both optimal at the same price, cross into one of k runs (Aggarwal,
/// Schieber and Tokuyama, "Finding a minimum-weight k-link path in graphs with the concave Monge property", 1994).
struct PartitionSearch {
    /// Positions of the runs' ends: ascending, the last is the number of points.
    typealias Ends = [Int32]

    private struct Partition {
        let price: Double
        /// Squared error plus price for each run.
        let cost: Double
        let ends: Ends
        let error: Double
        var count: Int { ends.count }
    }

    private let points: PointSums
    private let cost: UnsafeMutablePointer<Double>
    private let scratch: UnsafeMutablePointer<Double>
    private let previous: UnsafeMutablePointer<Int32>

    /// The optimal ends and the price that found them, for `k` runs of at least `k` points.
    static func best(_ points: PointSums, k: Int) -> (ends: Ends, price: Double) {
        // A look at every stride-th position alone finds a price close to the right one for next to nothing.
        let coarse = max(256, 16 * k)
        let hint =
            points.count >= 4 * coarse
            ? best(PointSums(points, every: points.count / coarse), k: k).price
            : 2 * 2.72 * points.energy / pow(Double(k), 3)  // Panter and Dite's law for a normal distribution
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: 2 * points.count + 2) { sums in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: points.count + 1) { previous in
                guard let cost = sums.baseAddress, let previous = previous.baseAddress else { return ([], hint) }
                let search = PartitionSearch(
                    points: points, cost: cost, scratch: cost + points.count + 1, previous: previous)
                return search.best(k: k, startingAt: hint)
            }
        }
    }

    private func best(k: Int, startingAt hint: Double) -> (ends: Ends, price: Double) {
        // The partitions nearest to k runs from either side; all points in one run is one that needs no pass.
        var few = Partition(price: .infinity, cost: .infinity, ends: [Int32(points.count)], error: points.energy)
        if k == 1 { return (few.ends, hint) }
        var many: Partition?
        let noise = 1e-15 * Double(k) * points.energy
        var price = hint
        var meeting = Double.nan
        for _ in 0..<200 {
            let found = pass(price)
            if found.count == k { return (found.ends, price) }
            if let many, price == meeting, found.cost >= many.error + price * Double(many.count) - noise {
                return (crossing(few, many, k: k), price)
            }
            if found.count > k { many = found } else { few = found }
            guard let many else {
                // Still too few runs. Their number goes with the cube root of the price.
                price *= max(1e-9, 0.9 * pow(Double(found.count) / Double(k), 3))
                if price < .leastNormalMagnitude { break }
                continue
            }
            // Where the two cost the same; a partition that costs less there lies between them.
            meeting = (few.error - many.error) / Double(many.count - few.count)
            let guess = many.price * pow(Double(many.count) / (Double(k) + 0.5), 3)
            let isFar = abs(found.count - k) > 2 && guess > many.price && guess < few.price
            let next = isFar ? guess : meeting
            if next == price { break }
            price = next
        }
        return (many.map { crossing(few, $0, k: k) } ?? few.ends, price)
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

    /// A partition of k runs out of one with fewer and one with more, no costlier than the line between them: the first
    /// runs of `many` up to where one of its runs lies within a run of `few`, then the rest of `few`.
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
