import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Products of numbers that are rounded to bfloat16.
    @Suite struct BFloat16 {
        /// The numbers of bfloat16 rows.
        static func widened(_ numbers: ArraySlice<UInt16>) -> [Float] {
            numbers.map { Float(bitPattern: UInt32($0) << 16) }
        }

        /// Rows of bfloat16 as the product reads them.
        static func rows(_ x: [Float], _ columns: Int, stride: Int) -> [UInt16] {
            var rows = [UInt16](repeating: 0x7FFF, count: max(x.count / max(columns, 1), 1) * stride)
            for row in 0..<(columns == 0 ? 0 : x.count / columns) {
                x.withUnsafeBufferPointer { x in
                    rows.withUnsafeMutableBufferPointer { rows in
                        ck_bf16_row(x.baseAddress! + row * columns, columns, rows.baseAddress! + row * stride)
                    }
                }
            }
            return rows
        }

        /// C = A W^T through panels; rows of C lie `gap` further apart than they have to.
        static func product(_ a: [Float], _ w: [Float], m: Int, k: Int, n: Int, gap: Int = 0) -> [Float] {
            let (width, depth, stride) = (ck_panel_width(), ck_bf16_depth(k), ck_bf16_stride(k))
            let x = rows(a, k, stride: stride)
            // Words of 32 bits, as panels demand their boundary.
            var packed = [UInt32](repeating: .max, count: (n + width - 1) / width * width * depth / 2 + 1)
            var c = [Float](repeating: -7, count: m * (n + gap) + 1)
            let weights = rows(w, k, stride: depth)
            weights.withUnsafeBytes { weights in
                packed.withUnsafeMutableBytes { packed in
                    let own = weights.baseAddress!.assumingMemoryBound(to: UInt16.self)
                    let panels = packed.baseAddress!.assumingMemoryBound(to: UInt16.self)
                    for row in Swift.stride(from: 0, to: n, by: width) {
                        ck_pack_bf16_panel(own + row * depth, depth, min(width, n - row), k, panels + row * depth)
                    }
                    ck_gemm_bf16(x, stride, m, k, panels, n, &c, n + gap)
                }
            }
            return c
        }

        @Test("a row is rounded to nearest even, and zeros follow")
        func rounding() {
            var generator = SeededGenerator(seed: 3)
            let special: [Float] = [
                0, -0.0, 1, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
                .leastNonzeroMagnitude, -.leastNormalMagnitude,
            ]
            for x in [special] + oddSizes.map({ generator.floats($0, in: -2...5) }) {
                let depth = ck_bf16_depth(x.count)
                let results = onEachSet { Self.rows(x, x.count, stride: depth + 1) }
                #expect(results.agree)
                guard !x.isEmpty else { continue }
                #expect(results[0][x.count..<depth].allSatisfy { $0 == 0 } && results[0].last == 0x7FFF)
                let found = Self.widened(results[0][..<x.count])
                for (index, element) in x.enumerated() {
                    if element.isNaN { #expect(found[index].isNaN) }
                    guard element.isNormal else { continue }
                    #expect(found[index].isInfinite || abs(found[index] - element) <= element.ulp * 0x1p15)
                }
            }
            // Half of a step, and one and a half.
            #expect(Self.widened(Self.rows([1.00390625, 1.01171875], 2, stride: 32)[..<2]) == [1, 1.015625])
        }

        static let shapes: [[Int]] =
            (1...17).map { [$0, 5, 33] }
            + [
                [1, 1, 1], [7, 0, 3], [28, 384, 64], [29, 385, 31], [61, 800, 32], [113, 7, 65], [3, 1577, 1],
                [57, 31, 40], [130, 512, 33],
            ]

        /// AMX, and NEON with BF16, add in an order of their own.
        private static func hasOwnOrder(_ set: ck_isa) -> Bool { set == CK_AMX || set == CK_NEON_BF16 }

        @Test("sets give the scalar form's bits or are close to float64, and write nothing else", arguments: shapes)
        func sets(shape: [Int]) {
            let (m, k, n) = (shape[0], shape[1], shape[2])
            var generator = SeededGenerator(seed: UInt64(m * 1000 + k * 10 + n))
            let a = generator.floats(m * k), w = generator.floats(n * k)
            let results = onEachSet { Self.product(a, w, m: m, k: k, n: n, gap: 3) }
            for (set, result) in zip(Kernels.sets, results) where !Self.hasOwnOrder(set) {
                #expect(result == results[0])
            }
            let x = Self.widened(Self.rows(a, k, stride: k + 31)[...]),
                y = Self.widened(Self.rows(w, k, stride: k + 31)[...])
            for result in results {
                #expect(result.last == -7)
                for row in 0..<m {
                    for column in 0..<n + 3 {
                        let found = result[row * (n + 3) + column]
                        guard column < n else {
                            #expect(found == -7)
                            continue
                        }
                        var (exact, size) = (0.0, 0.0)
                        for i in 0..<k {
                            let product = Double(x[row * (k + 31) + i]) * Double(y[column * (k + 31) + i])
                            exact += product
                            size += abs(product)
                        }
                        // Far below the bound k * 2^-24 of a plain sum.
                        if abs(Double(found) - exact) > 16 * 0x1p-24 * size {
                            Issue.record("[\(row), \(column)]: expected \(exact), found \(found)")
                        }
                    }
                }
            }
        }

        @Test("a row that is not finite leaves the others alone; numbers below 2^-126 may become 0")
        func special() {
            let rows: [[Float]] = [[1, .nan, 2], [4, .infinity, 1], [0, 0, 0], [0x1p-130, 0x1p-130, 1], [1, 2, 3]]
            let w = [Float](repeating: 1, count: 3 * 40)
            for result in onEachSet({ Self.product(rows.flatMap { $0 }, w, m: 5, k: 3, n: 40) }) {
                for column in 0..<40 {
                    #expect(result[column].isNaN && result[40 + column] == .infinity && result[80 + column] == 0)
                    #expect(result[120 + column] == 1 && result[160 + column] == 6)
                }
            }
        }
    }
}
