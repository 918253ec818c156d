import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Every kernel: near the exact sums, the same bits on every set, whatever rows are beside a row, nothing else touched.
    @Suite struct Dot {
        private func check(
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

        private func exact(_ x: [Float], _ weight: (Int) -> Double) -> (sum: Double, size: Double) {
            x.indices.reduce(into: (0, 0)) { total, index in
                let product = Double(x[index]) * weight(index)
                total = (total.0 + product, total.1 + abs(product))
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

        @Test(
            "rows of 4-bit codes with a table, and no scales or those of blocks",
            arguments: [0, 16, 32, 64, 128, 1 << 20])
        func codes4(block: Int) {
            var generator = SeededGenerator(seed: 23)
            let table = generator.floats(16)
            for size in oddSizes where size > 0 {
                let block = min(block, size)
                let blocks = block == 0 ? 0 : (size + block - 1) / block
                // A block that is the whole row may have any size.
                guard blocks <= 1 || [16, 32, 64, 128].contains(block) else { continue }
                let bytes = (size + 1) / 2
                let x = generator.floats(size), codes = generator.bytes(6 * bytes)
                let scales = generator.floats(6 * blocks, in: 0.001...4)
                var pairs = [Float](repeating: .nan, count: (size + 31) / 32 * 32)
                ck_split_pairs(x, size, &pairs)
                let exact = { (row: Int) in
                    self.exact(x) { column in
                        let entry = table[Int(codes[row * bytes + column / 2] >> (column % 2 * 4) & 15)]
                        return Double(entry) * (blocks == 0 ? 1 : Double(scales[row * blocks + column / block]))
                    }
                }
                check(6, exact: exact, "\(size) columns, \(blocks) blocks") { rows, target in
                    codes.withUnsafeBufferPointer { codes in
                        scales.withUnsafeBufferPointer { scales in
                            ck_dot_codes4(
                                pairs, codes.baseAddress.map { $0 + rows.lowerBound * bytes }, bytes, rows.count, size,
                                table, scales.baseAddress.map { $0 + rows.lowerBound * blocks }, blocks, block, target)
                        }
                    }
                }
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
