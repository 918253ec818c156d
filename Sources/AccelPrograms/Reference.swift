import AccelTensors
import CAccelKernels

/// Loops that reference implementations share.
package enum Reference {
    /// Returns `function` of each element, computed in float64 and rounded once.
    static func mapping(_ x: [Float], _ function: @Sendable (Double) -> Double) -> [Float] {
        let width = 4096
        let whole = rows(x.count / width, width: width) { row, result in
            for column in 0..<width { result[column] = Float(function(Double(x[row * width + column]))) }
        }
        return whole + x[whole.count...].map { Float(function(Double($0))) }
    }

    /// Returns `count` rows of `width` elements. `body` fills each row; rows are filled in parallel.
    package static func rows(
        _ count: Int, width: Int, _ body: @Sendable (Int, UnsafeMutableBufferPointer<Float>) -> Void
    ) -> [Float] {
        var result = [Float](repeating: 0, count: count * width)
        guard !result.isEmpty else { return [] }
        let blocks = result.count < 1 << 13 ? 1 : min(count, Parallel.processorCount * 4)
        result.withUnsafeMutableBufferPointer { target in
            // Safe: each row is written by one thread only.
            nonisolated(unsafe) let target = target
            // The body does not throw, so neither does the loop.
            try? Parallel.forEach(blocks, threads: blocks == 1 ? 1 : Parallel.processorCount) { block in
                for row in count * block / blocks..<count * (block + 1) / blocks {
                    body(row, UnsafeMutableBufferPointer(rebasing: target[row * width..<(row + 1) * width]))
                }
            }
        }
        return result
    }

    /// Returns a dot product, accumulated in float64 in eight partial sums.
    package static func dot(
        _ a: UnsafeBufferPointer<Float>, _ aStart: Int, _ b: UnsafeBufferPointer<Float>, _ bStart: Int, _ count: Int
    ) -> Double {
        var sums = SIMD8<Double>.zero
        if count > 0, let a = a.baseAddress, let b = b.baseAddress {
            withUnsafeMutableBytes(of: &sums) { sums in
                ck_reference_dot(a + aStart, b + bStart, count, sums.assumingMemoryBound(to: Double.self).baseAddress)
            }
        }
        var sum = sums.sum()
        for index in (count & ~7)..<count { sum += Double(a[aStart + index]) * Double(b[bStart + index]) }
        return sum
    }

    /// Returns the sum of squares in float64; NaN or infinite if an element is.
    static func sumOfSquares(_ x: [Float]) -> Double {
        x.withUnsafeBufferPointer { dot($0, 0, $0, 0, x.count) }
    }

    static func areFinite(_ x: [Float]) -> Bool {
        x.withUnsafeBufferPointer { x in x.baseAddress.map { ck_all_finite($0, x.count) != 0 } ?? true }
    }
}
