import Foundation
import TestSupport
import Testing

@testable import WeightCompression

@Suite("Exact k-means")
struct ExactKMeansTests {
    /// Least squared error by the plain dynamic program over all partitions of the sorted points.
    static func optimum(_ points: [Float], k: Int) -> Double {
        let sorted = points.sorted().map(Double.init)
        let n = sorted.count
        func error(_ range: Range<Int>) -> Double {
            let run = sorted[range]
            let mean = run.reduce(0, +) / Double(run.count)
            return run.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        }
        var best = (0...n).map { $0 == 0 ? 0 : error(0..<$0) }
        for _ in 1..<max(k, 1) {
            best = (0...n).map { end in
                (0..<end).map { best[$0] + error($0..<end) }.min().map { min($0, best[end]) } ?? 0
            }
        }
        return best[n]
    }

    static func error(_ points: [Float], _ centers: [Double]) -> Double {
        points.reduce(0.0) { sum, point in
            let distance = centers.map { abs($0 - Double(point)) }.min() ?? .infinity
            return sum + distance * distance
        }
    }

    static func points(seed: Int) -> [Float] {
        var random = SeededGenerator(seed: UInt64(seed))
        let count = Int.random(in: 1...40, using: &random)
        return (0..<count).map { _ in
            switch seed % 6 {
            case 0: Float(Int.random(in: -4...4, using: &random))
            case 1: Float.random(in: -1...1, using: &random)
            case 2: Float(tan(Double.random(in: -1.5...1.5, using: &random)))
            case 3: 1000 + Float.random(in: -0.001...0.001, using: &random)
            case 4: Float.random(in: -1...1, using: &random) * (Bool.random(using: &random) ? 1e-30 : 1e30)
            default: Float(Int.random(in: 0...3, using: &random)) * 10 + Float.random(in: -0.1...0.1, using: &random)
            }
        }
    }

    @Test("The error is that of the dynamic program over all partitions", arguments: 0..<300)
    func optimal(seed: Int) {
        let points = Self.points(seed: seed)
        for k in 1...min(points.count, 9) {
            var copy = points
            let centers = copy.withUnsafeMutableBufferPointer { ExactKMeans.centers(of: $0, k: k) }
            #expect(centers.count <= k)
            #expect(centers == centers.sorted())
            let (found, wanted) = (Self.error(points, centers), Self.optimum(points, k: k))
            let scale = points.reduce(0.0) { $0 + Double($1) * Double($1) }
            #expect(found <= wanted * (1 + 1e-12) + 1e-28 * scale, "seed \(seed), k \(k): \(found), not \(wanted)")
        }
    }
}
