/// Costs of runs with about 30 digits, and a dynamic program over them, for the few cases in which running sums in
/// float64 do not determine the best partition.
struct PreciseRuns {
    private let w: [TwoDoubles]
    private let s1: [TwoDoubles]
    private let s2: [TwoDoubles]

    init(_ sorted: UnsafeBufferPointer<Float>, weights: UnsafeBufferPointer<Double>?) {
        // Relative to the middle point, as in PointSums.
        let middle = sorted.count / 2
        var sums = [[TwoDoubles]](repeating: [TwoDoubles](repeating: TwoDoubles(0), count: sorted.count + 1), count: 3)
        func terms(_ index: Int) -> [TwoDoubles] {
            let weight = TwoDoubles(weights?[index] ?? 1)
            let x = TwoDoubles(Double(sorted[index])) - TwoDoubles(Double(sorted[middle]))
            return [weight, weight * x, weight * x * x]
        }
        for index in middle..<sorted.count {
            for (row, term) in terms(index).enumerated() { sums[row][index + 1] = sums[row][index] + term }
        }
        for index in stride(from: middle - 1, through: 0, by: -1) {
            for (row, term) in terms(index).enumerated() { sums[row][index] = sums[row][index + 1] - term }
        }
        (w, s1, s2) = (sums[0], sums[1], sums[2])
    }

    private func cost(_ start: Int, _ end: Int) -> Double {
        let sum = s1[end] - s1[start]
        return max(0, (s2[end] - s2[start] - sum * sum / (w[end] - w[start])).value)
    }

    /// Returns the ends of the best k runs. Each layer is solved by divide and conquer, because the best start of the
    /// last run increases with its end.
    func bestEnds(k: Int) -> [Int32] {
        let count = w.count - 1
        var errors = (0...count).map { $0 == 0 ? 0 : cost(0, $0) }
        var starts: [[Int32]] = []
        for layer in stride(from: 2, through: k, by: 1) {
            var next = [Double](repeating: .infinity, count: count + 1)
            var best = [Int32](repeating: 0, count: count + 1)
            var open = [(ends: layer...count, starts: layer - 1...count - 1)]
            while let (ends, candidates) = open.popLast() {
                let end = (ends.lowerBound + ends.upperBound) / 2
                var at = candidates.lowerBound
                for start in candidates.lowerBound...max(min(candidates.upperBound, end - 1), candidates.lowerBound) {
                    let error = errors[start] + cost(start, end)
                    if error < next[end] { (next[end], at) = (error, start) }
                }
                best[end] = Int32(at)
                if ends.lowerBound < end { open.append((ends.lowerBound...end - 1, candidates.lowerBound...at)) }
                if end < ends.upperBound { open.append((end + 1...ends.upperBound, at...candidates.upperBound)) }
            }
            errors = next
            starts.append(best)
        }
        var ends = [Int32(count)]
        for layer in starts.reversed() { ends.append(layer[Int(ends[ends.count - 1])]) }
        return ends.reversed()
    }
}

/// An unevaluated sum of two float64, the second below half a unit in the last place of the first.
private struct TwoDoubles {
    private let high: Double
    private let low: Double

    init(_ value: Double) { (high, low) = (value, 0) }

    private init(_ high: Double, plus low: Double) {
        let sum = high + low
        (self.high, self.low) = (sum, low - (sum - high))
    }

    var value: Double { high + low }

    static func + (a: TwoDoubles, b: TwoDoubles) -> TwoDoubles {
        let sum = a.high + b.high
        let part = sum - a.high
        let rest = (a.high - (sum - part)) + (b.high - part)
        return TwoDoubles(sum, plus: rest + a.low + b.low)
    }

    static func - (a: TwoDoubles, b: TwoDoubles) -> TwoDoubles { a + TwoDoubles(-b.high, plus: -b.low) }

    static func * (a: TwoDoubles, b: TwoDoubles) -> TwoDoubles {
        let product = a.high * b.high
        let rest = (-product).addingProduct(a.high, b.high)
        return TwoDoubles(product, plus: rest + a.high * b.low + a.low * b.high)
    }

    static func / (a: TwoDoubles, b: TwoDoubles) -> TwoDoubles {
        let quotient = TwoDoubles(a.high / b.high)
        let rest = a - quotient * b
        return TwoDoubles(quotient.high, plus: rest.high / b.high)
    }
}
