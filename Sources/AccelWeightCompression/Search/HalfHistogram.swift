import AccelByteIO
import AccelTensors
import CAccelKernels

/// The number of occurrences of each value of a 16-bit type.
struct HalfHistogram {
    /// The bit patterns that occur, ascending by value.
    let patterns: [UInt16]
    let values: [Float]
    let weights: [Double]

    /// - Parameters:
    ///   - bytes: float16 or bfloat16 numbers.
    ///   - threads: the most threads to use; the result does not depend on it.
    init(_ bytes: ByteView, _ type: ElementType, threads: Int) {
        let counts = Self.counts(bytes, threads: threads)
        var (patterns, weights) = ([UInt16](), [Double]())
        func take(_ pattern: UInt16) {
            let count = counts[Int(pattern)]
            guard count > 0 else { return }
            patterns.append(pattern)
            weights.append(Double(count))
        }
        // Negative numbers decrease as their bits increase.
        for pattern in (UInt16(0x8000)...0xFFFF).reversed() { take(pattern) }
        for pattern in UInt16(0)...0x7FFF { take(pattern) }
        var values = [Float](repeating: 0, count: patterns.count)
        if type == .float16 {
            ck_f16_to_f32(patterns, &values, patterns.count)
        } else {
            ck_bf16_to_f32(patterns, &values, patterns.count)
        }
        self.patterns = patterns
        self.values = values
        self.weights = weights
    }

    private static func counts(_ bytes: ByteView, threads: Int) -> [UInt64] {
        let count = bytes.count / 2
        // Pieces are small enough for 32-bit counts.
        let pieces = max(count < 1 << 22 ? 1 : threads, (count + 1 << 31 - 1) >> 31)
        let length = (count + pieces - 1) / max(pieces, 1)
        @Sendable func counted(_ piece: Int) -> [UInt32] {
            let part = min(piece * length, count)..<min((piece + 1) * length, count)
            var counts = [UInt32](repeating: 0, count: 1 << 16)
            bytes[part.lowerBound * 2..<part.upperBound * 2].withBytes {
                ck_count_halves($0.baseAddress, part.count, &counts)
            }
            return counts
        }
        let parts = (try? Parallel.map(pieces, threads: threads) { counted($0) }) ?? []
        var sums = [UInt64](repeating: 0, count: 1 << 16)
        for counts in parts {
            for pattern in 0..<1 << 16 { sums[pattern] &+= UInt64(counts[pattern]) }
        }
        return sums
    }
}
