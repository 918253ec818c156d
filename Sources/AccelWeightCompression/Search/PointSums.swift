/// Running sums over sorted weighted points, so that the cost of any run takes constant time.
///
/// `w`, `s1` and `s2` at position i are the sums of weight, weight * x and weight * x^2 over the points before it,
/// relative to the middle position; x is relative to the middle point. So sums are small where most points are, and
/// outliers at the ends do not cost the others precision.
final class PointSums {
    let count: Int
    let w: UnsafeMutablePointer<Double>
    let s1: UnsafeMutablePointer<Double>
    let s2: UnsafeMutablePointer<Double>
    /// The reciprocals of run weights, if all points have the same weight; else nil.
    let reciprocal: UnsafeMutablePointer<Double>?

    private init(count: Int, even weight: Double?) {
        self.count = count
        w = .allocate(capacity: count + 1)
        s1 = .allocate(capacity: count + 1)
        s2 = .allocate(capacity: count + 1)
        guard let weight else {
            reciprocal = nil
            return
        }
        let table = UnsafeMutablePointer<Double>.allocate(capacity: count + 1)
        table[0] = 0
        for distance in 0..<count { table[distance + 1] = 1 / (weight * Double(distance + 1)) }
        reciprocal = table
    }

    deinit {
        w.deallocate()
        s1.deallocate()
        s2.deallocate()
        reciprocal?.deallocate()
    }

    /// Creates the sums of points with weight 1.
    convenience init(_ points: UnsafeBufferPointer<Float>) {
        self.init(count: points.count, even: 1)
        let (middle, origin) = Self.middle(points)
        for index in 0...count { w[index] = Double(index - middle) }
        fill(middle) { index in (1, Double(points[index]) - origin) }
    }

    /// Creates the sums of points with different, positive weights.
    convenience init(_ points: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>) {
        self.init(count: points.count, even: nil)
        let (middle, origin) = Self.middle(points)
        w[middle] = 0
        for index in middle..<count { w[index + 1] = w[index] + weights[index] }
        for index in stride(from: middle, to: 0, by: -1) { w[index - 1] = w[index] - weights[index - 1] }
        fill(middle) { index in (weights[index], Double(points[index]) - origin) }
    }

    private static func middle(_ points: UnsafeBufferPointer<Float>) -> (position: Int, value: Double) {
        points.isEmpty ? (0, 0) : (points.count / 2, Double(points[points.count / 2]))
    }

    @inline(__always)
    private func fill(_ middle: Int, _ point: (Int) -> (weight: Double, x: Double)) {
        var (sum, squares) = (0.0, 0.0)
        (s1[middle], s2[middle]) = (0, 0)
        for index in middle..<count {
            let (weight, x) = point(index)
            sum += weight * x
            squares += weight * x * x
            (s1[index + 1], s2[index + 1]) = (sum, squares)
        }
        (sum, squares) = (0, 0)
        var index = middle
        while index > 0 {
            index -= 1
            let (weight, x) = point(index)
            sum -= weight * x
            squares -= weight * x * x
            (s1[index], s2[index]) = (sum, squares)
        }
    }

    /// Creates the sums of groups that are not cut, in order. The error within groups is the same for every partition
    /// and is left out.
    convenience init(groups: [CellGroup]) {
        self.init(count: groups.count, even: nil)
        // Relative to the middle group.
        let half = groups.reduce(0) { $0 + $1.count } / 2
        var (middle, before) = (0, 0.0)
        while middle < groups.count - 1, before < half {
            before += groups[middle].count
            middle += 1
        }
        (w[middle], s1[middle], s2[middle]) = (0, 0, 0)
        for index in middle..<count {
            let group = groups[index]
            w[index + 1] = w[index] + group.count
            s1[index + 1] = s1[index] + group.sum
            s2[index + 1] = s2[index] + group.sum * group.sum / group.count
        }
        for index in stride(from: middle - 1, through: 0, by: -1) {
            let group = groups[index]
            w[index] = w[index + 1] - group.count
            s1[index] = s1[index + 1] - group.sum
            s2[index] = s2[index + 1] - group.sum * group.sum / group.count
        }
    }

    /// Creates the sums of the same points in reverse order.
    convenience init(reversing all: PointSums) {
        self.init(count: all.count, even: nil)
        for index in 0...count {
            w[index] = -all.w[count - index]
            s1[index] = -all.s1[count - index]
            s2[index] = -all.s2[count - index]
        }
    }

    /// Returns the means of the runs that end at `ends`.
    func means(_ ends: [Int32]) -> [Double] {
        zip([0] + ends, ends).map { (start: Int32, end: Int32) -> Double in
            (s1[Int(end)] - s1[Int(start)]) / (w[Int(end)] - w[Int(start)])
        }
    }

    /// Creates sums with only some positions, ascending: runs can start and end only there.
    convenience init(_ all: PointSums, at positions: [Int]) {
        self.init(count: positions.count - 1, even: nil)
        for (index, position) in positions.enumerated() {
            (w[index], s1[index], s2[index]) = (all.w[position], all.s1[position], all.s2[position])
        }
    }

    /// The squared error around the mean of all points.
    var energy: Double {
        let sum = s1[count] - s1[0]
        return count == 0 ? 0 : max(0, s2[count] - s2[0] - sum * sum / (w[count] - w[0]))
    }

    /// Returns the squared error around the means of the runs that end at `ends`.
    func error(_ ends: [Int32]) -> Double {
        var (total, start) = (0.0, 0)
        for end in ends {
            let end = Int(end)
            let sum = s1[end] - s1[start]
            total += max(0, s2[end] - s2[start] - sum * sum / (w[end] - w[start]))
            start = end
        }
        return total
    }

    /// The largest effect of the sums' rounding on the cost of a run.
    var noise: Double { 0x1p-51 * max(-s2[0], s2[count]) }
}
