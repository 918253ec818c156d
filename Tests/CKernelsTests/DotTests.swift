import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Every kernel: near the exact sums, the same bits on every set, whatever rows are beside a row, nothing else touched.
    @Suite struct Dot {
        func check(
            _ rows: Int, exact: (Int) -> (sum: Double, size: Double), _ comment: Comment,
            _ kernel: (_ rows: Range<Int>, _ target: UnsafeMutablePointer<Float>?) -> Void
        ) {
            func result(_ parts: [Range<Int>]) -> [Float] {
                var target = [Float](repeating: -7, count: rows + 1)
                target.withUnsafeMutableBufferPointer { buffer in
                    for part in parts { kernel(part, buffer.baseAddress! + part.lowerBound) }
                }
                return target
            }
            let results = onEachSet { result([0..<rows]).map(\.bitPattern) }
            #expect(results.agree, comment)
            #expect(result((0..<rows).map { $0..<$0 + 1 }).map(\.bitPattern) == results[0], comment)
            #expect(Float(bitPattern: results[0][rows]) == -7, comment)
            for row in 0..<rows {
                let (sum, size) = exact(row)
                let found = Double(Float(bitPattern: results[0][row]))
                #expect(abs(found - sum) <= 2e-6 * size + 1e-30, comment)
            }
        }

        func exact(_ x: [Float], _ weight: (Int) -> Double) -> (sum: Double, size: Double) {
            x.indices.reduce(into: (0, 0)) { total, index in
                let product = Double(x[index]) * weight(index)
                total = (total.0 + product, total.1 + abs(product))
            }
        }

        @Test("rows of float16 and bfloat16, with the bits of the same numbers as float32")
        func halves() {
            var generator = SeededGenerator(seed: 24)
            for (type, widen) in [(CK_F16, ck_f16_to_f32), (CK_BF16, ck_bf16_to_f32)] {
                for size in oddSizes {
                    let x = generator.floats(size), stride = size + size % 3
                    // Of both types: subnormal numbers, and large ones whose sums are finite.
                    let halves = (0..<7 * stride).map { _ in
                        UInt16.random(in: 0..<0x7C00, using: &generator)
                            | (UInt16.random(in: 0...1, using: &generator) << 15)
                    }
                    var floats = [Float](repeating: .nan, count: halves.count)
                    widen(halves, &floats, halves.count)
                    check(7, exact: { row in exact(x) { Double(floats[row * stride + $0]) } }, "\(size) columns") {
                        rows, target in
                        halves.withUnsafeBufferPointer {
                            ck_dot_halves(
                                x, $0.baseAddress.map { $0 + rows.lowerBound * stride }, type, stride, rows.count,
                                size, target)
                        }
                        var sums = [Float](repeating: .nan, count: rows.count)
                        floats.withUnsafeBufferPointer {
                            ck_dot(
                                x, $0.baseAddress.map { $0 + rows.lowerBound * stride }, stride, rows.count, size, &sums
                            )
                        }
                        #expect(sums.map(\.bitPattern) == (0..<rows.count).map { target?[$0].bitPattern })
                    }
                }
            }
        }

        @Test("rows of floats")
        func floats() {
            var generator = SeededGenerator(seed: 21)
            for size in oddSizes {
                let x = generator.floats(size), stride = size + size % 3
                let w = generator.floats(7 * stride)
                check(7, exact: { row in exact(x) { Double(w[row * stride + $0]) } }, "\(size)") { rows, target in
                    w.withUnsafeBufferPointer {
                        ck_dot(
                            x, $0.baseAddress.map { $0 + rows.lowerBound * stride }, stride, rows.count, size, target)
                    }
                }
            }
        }

        @Test("rows of floats with several vectors: the same bits in any company", arguments: [1, 2, 3, 4, 5, 9])
        func many(vectors: Int) {
            var generator = SeededGenerator(seed: 27)
            for size in oddSizes {
                let (xStride, stride) = (size + 1, size + size % 3)
                let x = generator.floats(vectors * xStride), w = generator.floats(7 * stride)
                func one(_ vector: Int, _ row: Int) -> Float {
                    var target: Float = -7
                    x[(vector * xStride)...].withUnsafeBufferPointer { x in
                        w[(row * stride)...].withUnsafeBufferPointer { w in
                            ck_dot_many(x.baseAddress, xStride, 1, w.baseAddress, stride, 1, size, &target, 1)
                        }
                    }
                    return target
                }
                let results = onEachSet {
                    var target = [Float](repeating: -7, count: vectors * 8)
                    ck_dot_many(x, xStride, vectors, w, stride, 7, size, &target, 8)
                    return target
                }
                #expect(results.agree)
                for vector in 0..<vectors {
                    #expect(results[0][vector * 8 + 7] == -7)
                    for row in 0..<7 {
                        let (sum, bound) = exact(Array(x[(vector * xStride)...].prefix(size))) {
                            Double(w[row * stride + $0])
                        }
                        #expect(abs(Double(results[0][vector * 8 + row]) - sum) <= 2e-6 * bound + 1e-30)
                        #expect(results[0][vector * 8 + row] == one(vector, row))
                    }
                }
            }
        }

        @Test("rows of int8 codes about their zero points")
        func int8() {
            var generator = SeededGenerator(seed: 22)
            let zeros: [Float] = [0, 0, -128, 17, 0, 3]
            for size in oddSizes {
                let x = generator.floats(size), codes = generator.bytes(6 * size).map { Int8(bitPattern: $0) }
                check(
                    6, exact: { row in exact(x) { Double(codes[row * size + $0]) - Double(zeros[row]) } }, "\(size)"
                ) { rows, target in
                    codes.withUnsafeBufferPointer { codes in
                        zeros.withUnsafeBufferPointer { zeros in
                            ck_dot_int8(
                                x, codes.baseAddress.map { $0 + rows.lowerBound * size }, size, rows.count, size,
                                zeros.baseAddress.map { $0 + rows.lowerBound }, target)
                        }
                    }
                }
            }
        }

        @Test("sums of weighted rows of float16, with the bits of the same numbers as float32")
        func weightedHalves() {
            var generator = SeededGenerator(seed: 25)
            for columns in oddSizes {
                let stride = columns + columns % 3
                // Subnormal numbers too; NaN where the weight is 0, which is not read.
                var halves = (0..<11 * stride).map { _ in
                    UInt16.random(in: 0..<0x7C00, using: &generator)
                        | (UInt16.random(in: 0...1, using: &generator) << 15)
                }
                var weights = generator.floats(11)
                weights[4] = 0
                for column in 0..<stride { halves[4 * stride + column] = 0x7E00 }
                var floats = [Float](repeating: 0, count: halves.count)
                ck_f16_to_f32(halves, &floats, halves.count)
                let results = onEachSet {
                    var (target, expected) = ([Float](repeating: -7, count: columns + 1), [Float]())
                    expected = target
                    ck_weighted_sum_halves(weights, halves, stride, 11, columns, &target)
                    ck_weighted_sum(weights, floats, stride, 11, columns, &expected)
                    #expect(target.map(\.bitPattern) == expected.map(\.bitPattern), "\(columns) columns")
                    return target
                }
                #expect(results.agree)
                #expect(results[0].allSatisfy { !$0.isNaN } && results[0][columns] == -7)
            }
        }

        @Test("sums of weighted rows, of which those of weight 0 are not read")
        func weightedSum() {
            var generator = SeededGenerator(seed: 24)
            for columns in oddSizes {
                let stride = columns + 3
                var rows = generator.floats(11 * stride), weights = generator.floats(11)
                (weights[0], weights[4]) = (0, 0)
                for column in 0..<stride { (rows[column], rows[4 * stride + column]) = (.nan, .infinity) }
                let results = onEachSet {
                    var target = [Float](repeating: -7, count: columns + 1)
                    ck_weighted_sum(weights, rows, stride, 11, columns, &target)
                    return target
                }
                #expect(results.agree)
                #expect(results[0][columns] == -7)
                for column in 0..<columns {
                    let exact = weights.indices.filter { weights[$0] != 0 }.reduce(0.0) {
                        $0 + Double(weights[$1]) * Double(rows[$1 * stride + column])
                    }
                    #expect(abs(Double(results[0][column]) - exact) <= 5e-6)
                }
            }
        }
    }
}
