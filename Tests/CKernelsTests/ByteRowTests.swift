import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Rows of codes that end with their scale.
    @Suite struct ByteRows {
        /// Rows around every edge of the rounding, each cut or repeated to `size` elements.
        static func rows(_ size: Int, _ generator: inout SeededGenerator) -> [[Float]] {
            let (tiny, smallest) = (Float.leastNormalMagnitude, Float.leastNonzeroMagnitude)
            let edges: [[Float]] = [
                [0, -0], [127, 0.5, 1.5, 2.5, -0.5, -1.5], [-127, 126.5, -126.5, 125.5], [smallest, -smallest, 0],
                [tiny, tiny / 2, -tiny / 2], [200 * tiny, 100 * tiny, -tiny], [.greatestFiniteMagnitude, -1, 1e38],
            ]
            let repeated = edges.map { edge in (0..<size).map { edge[$0 % edge.count] } }
            let drawn = [1, 1e-30, 1e30].map { generator.floats(size, in: -$0...$0) }
            return repeated + drawn
        }

        static func rounded(_ row: [Float]) -> [Int8] {
            var bytes = [Int8](repeating: 99, count: row.count + 5)
            ck_round_byte_row(row, row.count, &bytes, ck_cancellation())
            return bytes
        }

        @Test("a row's scale is its largest element over 127, its codes are the nearest, and nothing else is touched")
        func rounding() {
            var generator = SeededGenerator(seed: 41)
            for size in oddSizes {
                for row in Self.rows(size, &generator) {
                    let results = onEachSet { Self.rounded(row) }
                    #expect(results.agree, "\(size)")
                    #expect(results[0][size + 4] == 99)
                    let most = row.map(abs).max() ?? 0
                    let scale = ck_byte_row_scale(results[0], size)
                    #expect(scale == (most == 0 ? 0 : max(most / 127, .leastNormalMagnitude)))
                    for (element, code) in zip(row, results[0]) {
                        let steps = scale == 0 ? 0 : (element * (1 / scale)).rounded(.toNearestOrEven)
                        #expect(Float(code) == min(max(steps, -127), 127))
                        #expect(abs(Double(element) - Double(code) * Double(scale)) <= Double(scale) * 0.50001)
                    }
                }
            }
        }

        @Test("a row with an infinite element or a NaN anywhere has the scale NaN and codes of 0")
        func notFinite() {
            var generator = SeededGenerator(seed: 42)
            for size in [1, 5, 16, 31, 32, 33, 100] {
                for bad in [Float.infinity, -.infinity, .nan] {
                    for position in 0..<size {
                        var row = generator.floats(size)
                        row[position] = bad
                        let results = onEachSet { Self.rounded(row) }
                        #expect(results.agree)
                        #expect(ck_byte_row_scale(results[0], size).bitPattern == Float.nan.bitPattern)
                        #expect(results[0][..<size].allSatisfy { $0 == 0 })
                    }
                }
            }
        }

        /// Rows one after the other, with the stride that they have in a cache of `size` codes a row, and their values.
        static func cache(_ rows: Int, _ size: Int, _ generator: inout SeededGenerator) -> (
            bytes: [Int8], values: [[Float]]
        ) {
            var (bytes, values): ([Int8], [[Float]]) = ([], [])
            for row in 0..<rows {
                let own = rounded(generator.floats(size, in: row % 2 == 0 ? -1...1 : -1e-3...1e-3))
                bytes += own[..<(size + 4)]
                var wide = [Float](repeating: 0, count: size)
                ck_widen_codes(own, size, ck_byte_row_scale(own, size), &wide)
                values.append(wide)
            }
            return (bytes, values)
        }

        @Test("codes times their scale, the same bits on every set")
        func widening() {
            var generator = SeededGenerator(seed: 43)
            for size in oddSizes {
                let codes = generator.bytes(size).map { Int8(bitPattern: $0) }
                let results = onEachSet {
                    var target = [Float](repeating: -7, count: size + 1)
                    ck_widen_codes(codes, size, 0.1, &target)
                    return target
                }
                #expect(results.agree)
                #expect(results[0] == codes.map { Float($0) * 0.1 } + [-7])
            }
        }

        @Test("products with rows of codes are near those of their values, and do not depend on other rows")
        func dot() {
            var generator = SeededGenerator(seed: 44)
            for size in oddSizes {
                let x = generator.floats(size)
                let (bytes, values) = Self.cache(7, size, &generator)
                let stride = size + 4
                let dots = Dot()
                dots.check(7, exact: { row in dots.exact(x) { Double(values[row][$0]) } }, "\(size) columns") {
                    rows, target in
                    bytes.withUnsafeBufferPointer {
                        ck_dot_byte_rows(
                            x, $0.baseAddress.map { $0 + rows.lowerBound * stride }, stride, rows.count, size, target)
                    }
                }
            }
        }

        @Test("sums of weighted rows of codes are near those of their values; those of weight 0 are not read")
        func weightedSum() {
            var generator = SeededGenerator(seed: 45)
            for size in oddSizes {
                var (bytes, values) = Self.cache(11, size, &generator)
                var weights = generator.floats(11)
                (weights[0], weights[4]) = (0, 0)
                let stride = size + 4
                // The scale of a row that is not read.
                for byte in 0..<4 { bytes[4 * stride + size + byte] = -1 }
                for column in 0..<size { values[4][column] = 0 }
                let results = onEachSet {
                    var target = [Float](repeating: -7, count: size + 1)
                    ck_weighted_sum_byte_rows(weights, bytes, stride, 11, size, &target)
                    return target.map(\.bitPattern)
                }
                #expect(results.agree)
                #expect(Float(bitPattern: results[0][size]) == -7)
                for column in 0..<size {
                    let products = (0..<11).map { Double(weights[$0]) * Double(values[$0][column]) }
                    let found = Double(Float(bitPattern: results[0][column]))
                    #expect(abs(found - products.reduce(0, +)) <= 2e-6 * products.map(abs).reduce(0, +) + 1e-30)
                }
            }
        }
    }
}
