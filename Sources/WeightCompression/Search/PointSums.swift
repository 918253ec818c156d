/// Sorted weighted points as running sums, the form in which the cost of any run of them takes constant time.
///
/// `w`, `s1`, `s2` at position i are the sums of weight, weight * x and weight * x^2 over the points before it; x is
/// measured from the mean of all, so that sums keep their digits.
final class PointSums {
    let count: Int
    let w: UnsafeMutablePointer<Double>
    let s1: UnsafeMutablePointer<Double>
    let s2: UnsafeMutablePointer<Double>
    /// Every point weighs the same, so that a table of reciprocals serves all runs.
    let reciprocal: UnsafeMutablePointer<Double>?

    private init(count: Int, even weight: Double?) {
        self.count = count
        w = .allocate(capacity: count + 1)
        s1 = .allocate(capacity: count + 1)
        s2 = .allocate(capacity: count + 1)
        (w[0], s1[0], s2[0]) = (0, 0, 0)
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

    /// Points that weigh 1 each.
    convenience init(_ points: UnsafeBufferPointer<Float>) {
        self.init(count: points.count, even: 1)
        var sum = 0.0
        for point in points { sum += Double(point) }
        let mean = sum / Double(max(points.count, 1))
        for index in points.indices {
            let x = Double(points[index]) - mean
            w[index + 1] = Double(index + 1)
            s1[index + 1] = s1[index] + x
            s2[index + 1] = s2[index] + x * x
        }
    }

    /// Points of different weights, all above zero.
    convenience init(_ points: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>) {
        self.init(count: points.count, even: nil)
        var (sum, weight) = (0.0, 0.0)
        for index in points.indices {
            sum += Double(points[index]) * weights[index]
            weight += weights[index]
        }
        let mean = weight > 0 ? sum / weight : 0
        for index in points.indices {
            let x = Double(points[index]) - mean
            w[index + 1] = w[index] + weights[index]
            s1[index + 1] = s1[index] + weights[index] * x
            s2[index + 1] = s2[index] + weights[index] * x * x
        }
    }

    /// Only every `stride`th position: runs may start and end there alone. What is left at the end is dropped.
    convenience init(_ all: PointSums, every stride: Int) {
        self.init(count: all.count / stride, even: all.reciprocal == nil ? nil : Double(stride))
        for index in 0...count {
            (w[index], s1[index], s2[index]) = (all.w[index * stride], all.s1[index * stride], all.s2[index * stride])
        }
    }

    /// Squared error about the mean of all.
    var energy: Double { count == 0 ? 0 : max(0, s2[count] - s1[count] * s1[count] / w[count]) }
}
