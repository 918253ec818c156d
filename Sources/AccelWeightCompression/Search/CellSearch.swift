import AccelTensors
import CAccelKernels

/// Exact k-means of very many points without sorting all of them.
///
/// Points fall into cells of equal width. The best partition of whole cells is found quickly, and it bounds the
/// positions of the cuts in the best partition of points (`CutBounds`). Cells that may contain a cut are divided into
/// smaller cells and searched again. At last the points in the few remaining cells are sorted and searched; all other
/// points are never separated from their neighbours.
struct CellSearch {
    /// Below this count, sorting is as fast.
    static let leastCount = 1 << 16
    static let fewPoints = 1 << 16

    /// Calls its second argument with all points of a part, in blocks.
    typealias Blocks = @Sendable (_ part: Int, (UnsafeBufferPointer<Float>) -> Void) -> Void

    private let axis: CellAxis
    private let parts: Int
    private let threads: Int
    private let few: Int
    private let forEachBlock: Blocks

    /// Returns the centers; nil if cells do not help (few distinct values, extreme outliers, many entries), or if a
    /// point is not finite.
    /// - Parameters:
    ///   - parts: the number of parts that the points are divided into, for up to `threads` threads.
    ///   - few: when at most so many points, or one of 32, are left, they are sorted instead of divided again.
    ///   - forEachBlock: called a few times for each part.
    static func centers(
        count: Int, k: Int, parts: Int, threads: Int, few: Int = fewPoints, _ forEachBlock: @escaping Blocks
    ) throws -> [Double]? {
        let surveys = try Parallel.map(parts, threads: threads) { part in
            var (low, high, sum) = (Float.infinity, -Float.infinity, 0.0)
            forEachBlock(part) { block in
                let extremes = block.extremes
                (low, high) = (min(low, extremes.low), max(high, extremes.high))
                sum += Double(block.roughSum)
            }
            return (low: low, high: high, sum: sum)
        }
        let low = surveys.reduce(Float.infinity) { min($0, $1.low) }
        let high = surveys.reduce(-Float.infinity) { max($0, $1.high) }
        let mean = surveys.reduce(0) { $0 + $1.sum } / Double(count)
        guard let axis = CellAxis(from: low, to: high, origin: mean) else { return nil }
        let search = CellSearch(axis: axis, parts: parts, threads: threads, few: few, forEachBlock: forEachBlock)
        return try search.centers(count: count, k: k)
    }

    private func centers(count: Int, k: Int) throws -> [Double]? {
        var groups = [CellGroup(count: Double(count), position: 0, positions: 1 << CellAxis.bits, isCell: true)]
        var (open, openCount) = ([0], count)
        var price: Double?
        while price == nil || openCount > max(few, count / 32) {
            let cells = Cells(cutting: open.map { groups[$0] }, into: min(1 << 16, count / 4))
            groups = self.groups(cutting: open, of: groups, sums: try sums(cells), cells)
            guard price != nil || groups.count >= 128 * k,
                let bounds = CutBounds(groups, on: axis, k: k, price: price)
            else { return nil }
            open = bounds.open
            let left = open.reduce(0) { $0 + Int(groups[$1].count) }
            let isSlow = price != nil && left > openCount / 2
            (price, openCount) = (bounds.price, left)
            if isSlow { break }
        }
        guard let price, openCount <= count / 3 else { return nil }

        var points = try points(in: open.map { groups[$0] })
        // A mapped file may change while it is read.
        guard points.count == openCount else { return nil }
        Self.sort(&points)
        // Points that no cut separates become one group.
        var (fine, next, point): ([CellGroup], Int, Int) = ([], 0, 0)
        fine.reserveCapacity(points.count + open.count + 1)
        for index in open {
            fine.append(joining: groups[next..<index])
            for _ in 0..<Int(groups[index].count) {
                fine.append(CellGroup(count: 1, sum: Double(points[point]) - axis.origin))
                point += 1
            }
            next = index + 1
        }
        fine.append(joining: groups[next...])
        let sums = PointSums(groups: fine)
        let ends = PartitionSearch.best(sums, k: k, price: price)
        guard ends.count == k, sums.noise <= 1e-10 * sums.error(ends) else { return nil }
        return sums.means(ends).map { axis.origin + $0 }
    }

    /// Returns the number of points in each cell, and their sum.
    private func sums(_ cells: Cells) throws -> [CellSum] {
        let sumsOfParts = try Parallel.map(parts, threads: threads) { part in
            var sums = [CellSum](repeating: CellSum(), count: cells.count)
            sums.withUnsafeMutableBytes { sums in
                let sums = sums.assumingMemoryBound(to: Double.self).baseAddress
                forEachBlock(part) { block in
                    cells.withKept(block, on: axis) { kept, cells in
                        ck_add_to_cells(kept.baseAddress, kept.count, &cells, axis.origin, sums)
                    }
                }
            }
            return sums
        }
        var sums = sumsOfParts[0]
        for others in sumsOfParts.dropFirst() {
            for slot in sums.indices {
                sums[slot].count += others[slot].count
                sums[slot].sum += others[slot].sum
            }
        }
        return sums
    }

    /// Replaces the groups that were divided by their nonempty cells, and joins all groups between two of these.
    private func groups(
        cutting open: [Int], of groups: [CellGroup], sums: [CellSum], _ cells: Cells
    ) -> [CellGroup] {
        var result: [CellGroup] = []
        result.reserveCapacity(cells.count + open.count + 1)
        var (next, slot) = (0, 0)
        for index in open {
            result.append(joining: groups[next..<index])
            for cell in 0..<cells.perGroup {
                let (count, sum) = (sums[slot].count, sums[slot].sum)
                if count > 0 {
                    let position = groups[index].position + cell * cells.width
                    result.append(
                        CellGroup(count: count, sum: sum, position: position, positions: cells.width, isCell: true))
                }
                slot += 1
            }
            next = index + 1
        }
        result.append(joining: groups[next...])
        return result
    }

    /// Returns the points of some groups, in any order.
    private func points(in groups: [CellGroup]) throws -> [Float] {
        if groups.isEmpty { return [] }
        let cells = Cells(groups)
        return try Parallel.map(parts, threads: threads) { part in
            var points: [Float] = []
            forEachBlock(part) { block in
                cells.withKept(block, on: axis) { kept, _ in points += kept }
            }
            return points
        }.reduce(into: []) { $0 += $1 }
    }

    private static func sort(_ points: inout [Float]) {
        points.withUnsafeMutableBufferPointer { points in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(points.count, 1)) { scratch in
                RadixSort.sort(points, scratch: UnsafeMutableBufferPointer(rebasing: scratch[..<points.count]))
            }
        }
    }
}

extension UnsafeBufferPointer<Float> {
    /// The sum in float32.
    fileprivate var roughSum: Float {
        guard let start = UnsafeRawPointer(baseAddress) else { return 0 }
        var sums = SIMD16<Float>.zero
        let whole = count / 16 * 16
        for index in stride(from: 0, to: whole, by: 16) {
            sums += start.loadUnaligned(fromByteOffset: index * 4, as: SIMD16<Float>.self)
        }
        return self[whole...].reduce(sums.sum(), +)
    }
}

extension [CellGroup] {
    fileprivate mutating func append(joining groups: ArraySlice<CellGroup>) {
        guard let first = groups.first, let last = groups.last else { return }
        var all = CellGroup(position: first.position, positions: last.position + last.positions - first.position)
        for group in groups {
            all.count += group.count
            all.sum += group.sum
        }
        append(all)
    }
}

/// The sums of a cell. The memory layout (two numbers in this order) is that of the kernel.
private struct CellSum {
    var count = 0.0
    /// The sum of x - origin.
    var sum = 0.0
}

/// Groups of equally many positions, each divided into equally many cells, which are numbered in order.
private struct Cells: Sendable {
    private let outer: Int
    private let inner: Int
    /// For each run of positions as long as a group, the number of its first cell; negative if it is not one of the
    /// groups.
    private let first: [Int32]
    let count: Int

    /// - Parameter wanted: the number of cells to make; each group gets at least four, or one per position.
    init(cutting groups: [CellGroup], into wanted: Int) {
        let perGroup = max(4, wanted / groups.count)
        self.init(groups, bits: Int.bitWidth - 1 - perGroup.leadingZeroBitCount)
    }

    /// Creates cells from groups, each of which becomes 2^bits cells.
    init(_ groups: [CellGroup], bits: Int = 0) {
        outer = groups[0].positions.trailingZeroBitCount
        let bits = min(bits, outer)
        inner = outer - bits
        count = groups.count << bits
        var first = [Int32](repeating: -1, count: 1 << (CellAxis.bits - outer))
        for (number, group) in groups.enumerated() { first[group.position >> outer] = Int32(number << bits) }
        self.first = first
    }

    var perGroup: Int { 1 << (outer - inner) }
    /// The width of a cell, in positions.
    var width: Int { 1 << inner }

    /// Calls `body` with the points that are in a cell.
    func withKept(
        _ block: UnsafeBufferPointer<Float>, on axis: CellAxis,
        _ body: (UnsafeBufferPointer<Float>, inout ck_cells) -> Void
    ) {
        first.withUnsafeBufferPointer { first in
            var cells = axis.cells(outer: outer, inner: inner, first: first)
            if first.count == 1 { return body(block, &cells) }
            withUnsafeTemporaryAllocation(of: Float.self, capacity: block.count + 16) { kept in
                let count = ck_keep_open(block.baseAddress, block.count, &cells, kept.baseAddress)
                body(UnsafeBufferPointer(rebasing: kept[..<count]), &cells)
            }
        }
    }
}
