import TestSupport
import Testing

@testable import AccelWeightCompression

/// The search against a dynamic program that tries every partition.
@Suite("exact k-means")
struct ExactKMeansTests {
    /// A way to draw points that is hard on searches or on sums.
    enum Kind: CaseIterable {
        case uniform, normal, heavyTailed, integers, ties, twoFarClusters, largeOffset, tiny, large, geometric,
            subnormal, evenlySpaced

        func point(_ index: Int, _ generator: inout SeededGenerator) -> Float {
            let u = Float.random(in: -1...1, using: &generator)
            switch self {
            case .uniform: return u
            case .normal:
                return u + Float.random(in: -1...1, using: &generator) + Float.random(in: -1...1, using: &generator)
            case .heavyTailed: return u / (0.001 + abs(Float.random(in: -1...1, using: &generator)))
            case .integers: return (u * 20).rounded()
            case .ties: return (u * 3).rounded() * 0.1
            case .twoFarClusters: return u * 1e-3 + (u > 0 ? 1e4 : -1e4)
            case .largeOffset: return 1e6 + u
            case .tiny: return u * 1e-30
            case .large: return u * 1e30
            case .geometric: return (u > 0 ? 1 : -1) * Float(sign: .plus, exponent: index % 40 - 20, significand: 1)
            case .subnormal: return u * Float(bitPattern: 700)
            case .evenlySpaced: return Float(index) * 0.5
            }
        }
    }

    @Test("the squared error is the least of all partitions, for every k", arguments: Kind.allCases)
    func optimum(kind: Kind) {
        var generator = SeededGenerator(seed: UInt64(Kind.allCases.firstIndex(of: kind) ?? 0) + 1)
        for _ in 0..<12 {
            let count = Int.random(in: 1...28, using: &generator)
            let points = (0..<count).map { kind.point($0, &generator) }
            let best = leastErrors(points.sorted().map { ($0, 1) })
            for k in 1...count {
                var copy = points
                let centers = copy.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: k) }
                #expect(centers.count <= k)
                #expect(zip(centers, centers.dropFirst()).allSatisfy { $0 < $1 })
                let error = squaredError(points.map { ($0, 1) }, centers)
                #expect(isAsGood(error, as: best[k]), "\(kind), k = \(k): \(error), not \(best[k]), of \(points)")
            }
        }
    }

    @Test("the weighted squared error is the least of all partitions", arguments: Kind.allCases)
    func weighted(kind: Kind) {
        var generator = SeededGenerator(seed: UInt64(Kind.allCases.firstIndex(of: kind) ?? 0) + 100)
        for round in 0..<12 {
            let count = Int.random(in: 1...24, using: &generator)
            let points = (0..<count).map { kind.point($0, &generator) }.sorted()
            let weights = (0..<count).map { _ -> Double in
                let u = Double.random(in: 0.01...1, using: &generator)
                return round % 2 == 0 ? u : u * u * u * 1e6
            }
            let pairs = Array(zip(points, weights))
            let best = leastErrors(pairs)
            for k in 1...count {
                let centers = points.withUnsafeBufferPointer { points in
                    weights.withUnsafeBufferPointer { ExactKMeans.centers(of: points, weights: $0, k: k) }
                }
                let error = squaredError(pairs, centers)
                #expect(isAsGood(error, as: best[k]), "\(kind), k = \(k): \(error), not \(best[k])")
            }
        }
    }

    @Test(
        "partitions of many points are those of the dynamic program too",
        arguments: [Kind.normal, .heavyTailed, .largeOffset, .evenlySpaced])
    func many(kind: Kind) {
        var generator = SeededGenerator(seed: 77)
        let points = (0..<700).map { kind.point($0, &generator) }
        let best = leastErrors(points.sorted().map { ($0, 1) }, upTo: 16)
        for k in [2, 3, 4, 8, 16] {
            var copy = points
            let centers = copy.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: k) }
            let error = squaredError(points.map { ($0, 1) }, centers)
            #expect(isAsGood(error, as: best[k]), "\(kind), k = \(k): \(error), not \(best[k])")
        }
    }

    @Test("as many centers as distinct values are the values; more are not needed")
    func distinct() {
        var points: [Float] = [3, 1, 2, 3, 1, -0.0, 0]
        let centers = points.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: 8) }
        #expect(centers == [0, 1, 2, 3])
    }

    private func isAsGood(_ error: Double, as best: Double) -> Bool { error <= best * (1 + 1e-12) }

    /// Of the nearest centers.
    private func squaredError(_ points: [(Float, Double)], _ centers: [Double]) -> Double {
        points.reduce(0) { sum, point in
            sum + point.1 * (centers.map { (Double(point.0) - $0) * (Double(point.0) - $0) }.min() ?? .infinity)
        }
    }

    /// At index k the least squared error of sorted points in k clusters; costs are summed about running means.
    private func leastErrors(_ points: [(Float, Double)], upTo limit: Int? = nil) -> [Double] {
        let count = points.count
        var cost = [[Double]](repeating: [Double](repeating: 0, count: count + 1), count: count)
        for start in 0..<count {
            var (weight, mean, sum) = (0.0, 0.0, 0.0)
            for end in start..<count {
                // From the first point, so that the mean keeps its digits.
                let (x, w) = (Double(points[end].0) - Double(points[start].0), points[end].1)
                let difference = x - mean
                sum += difference * difference * (weight * w / (weight + w))
                weight += w
                mean += difference * w / weight
                cost[start][end + 1] = sum
            }
        }
        var errors = [Double](repeating: .infinity, count: count + 1)
        errors[0] = 0
        var least = [Double.infinity]
        for _ in 1...(limit ?? count) {
            errors = (0...count).map { end in
                (0..<end).reduce(end == 0 ? 0 : .infinity) { min($0, errors[$1] + cost[$1][end]) }
            }
            least.append(errors[count])
        }
        return least
    }
}

@Suite("exact k-means of many points")
struct CellSearchTests {
    @Test("cells find the partition that sorting finds", arguments: [2, 3, 8], [0, 1, 2, 3, 4])
    func sameError(k: Int, shape: Int) throws {
        var generator = SeededGenerator(seed: UInt64(k * 10 + shape))
        let points = (0..<CellSearch.leastCount / 2).map { index -> Float in
            let u = Float.random(in: -1...1, using: &generator)
            let v = Float.random(in: -1...1, using: &generator)
            switch shape {
            case 0: return u + v
            case 1: return u * u * u + (index % 1000 == 0 ? 3 : 0)
            case 2: return u * v * v
            case 3: return u / (1.01 - abs(v)) + 5
            default: return (u > 0 ? 2 : -1) + v * 0.3
            }
        }
        func found(parts: Int, threads: Int, few: Int = CellSearch.fewPoints) throws -> [Double]? {
            try CellSearch.centers(count: points.count, k: k, parts: parts, threads: threads, few: few) { part, body in
                let range = points.count * part / parts..<points.count * (part + 1) / parts
                points.withUnsafeBufferPointer { points in
                    body(UnsafeBufferPointer(rebasing: points[range].prefix(1000)))
                    body(UnsafeBufferPointer(rebasing: points[range].dropFirst(1000)))
                }
            }
        }
        #expect(try found(parts: 3, threads: 1) == found(parts: 3, threads: 2))
        var sorted = points
        let wanted = sorted.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: k) }
        // Looked at once, and again and again.
        for few in [CellSearch.fewPoints, 0] {
            let centers = try #require(try found(parts: 3, threads: 2, few: few))
            #expect(centers.count == wanted.count)
            for (center, other) in zip(centers, wanted) {
                #expect(abs(center - other) <= 1e-11, "\(centers) \(wanted)")
            }
        }
    }
}
