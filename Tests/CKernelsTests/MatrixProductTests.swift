import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite struct MatrixProduct {
        /// C = A W^T + bias through panels; rows of C lie `gap` further apart than they have to.
        static func product(
            _ a: [Float], _ w: [Float], bias: [Float]?, m: Int, k: Int, n: Int, gap: Int = 0
        ) -> [Float] {
            let width = ck_panel_width()
            var c = [Float](repeating: -7, count: m * (n + gap) + 1)
            var panel = [Float](repeating: .nan, count: k * width)
            for column in stride(from: 0, to: n, by: width) {
                let columns = min(width, n - column)
                w.withUnsafeBufferPointer { w in
                    ck_pack_panel(w.baseAddress! + column * k, k, columns, k, &panel)
                }
                c.withUnsafeMutableBufferPointer { c in
                    let target = c.baseAddress! + column
                    if let bias {
                        bias.withUnsafeBufferPointer {
                            ck_gemm_panels(a, k, m, k, panel, $0.baseAddress! + column, target, n + gap, columns)
                        }
                    } else {
                        ck_gemm_panels(a, k, m, k, panel, nil, target, n + gap, columns)
                    }
                }
            }
            return c
        }

        static let shapes: [[Int]] =
            (1...16).map { [$0, 5, 33] }
            + [
                [1, 1, 1], [7, 0, 3], [28, 192, 64], [29, 193, 31], [61, 400, 32], [113, 7, 65], [3, 577, 1],
                [57, 31, 40],
            ]

        @Test("every set gives the scalar form's bits, close to float64, and writes nothing else", arguments: shapes)
        func sets(shape: [Int]) {
            let (m, k, n) = (shape[0], shape[1], shape[2])
            var generator = SeededGenerator(seed: UInt64(m * 1000 + k * 10 + n))
            let a = generator.floats(m * k + 1), w = generator.floats(n * k + 1), bias = generator.floats(n)
            for bias in [bias, nil] {
                let results = onEachSet { Self.product(a, w, bias: bias, m: m, k: k, n: n, gap: 3) }
                #expect(results.agree)
                for row in 0..<m {
                    for column in 0..<n + 3 {
                        let found = results[0][row * (n + 3) + column]
                        guard column < n else {
                            #expect(found == -7)
                            continue
                        }
                        var exact = Double(bias?[column] ?? 0), size = abs(exact)
                        for i in 0..<k {
                            let product = Double(a[row * k + i]) * Double(w[column * k + i])
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

        @Test("a row's result does not depend on how many rows are computed with it")
        func rowsAreIndependent() {
            var generator = SeededGenerator(seed: 7)
            let (m, k, n) = (31, 300, 32)
            let a = generator.floats(m * k), w = generator.floats(n * k)
            for results in onEachSet({ () -> ([Float], [Float]) in
                let all = Self.product(a, w, bias: nil, m: m, k: k, n: n)
                let single = (0..<m).flatMap { row in
                    Self.product(Array(a[row * k..<(row + 1) * k]), w, bias: nil, m: 1, k: k, n: n).dropLast()
                }
                return (Array(all.dropLast()), single)
            }) {
                #expect(results.0 == results.1)
            }
        }

        @Test(
            "several panels at once give the bits of one after the other, also for rows whose parts are copied",
            arguments: [200, 1024])
        func severalPanels(stride: Int) {
            var generator = SeededGenerator(seed: 9)
            let (m, k, n, width) = (141, 200, 100, ck_panel_width())
            let rows = generator.floats(m * stride), w = generator.floats(n * k), bias = generator.floats(n)
            let a = (0..<m).flatMap { rows[$0 * stride..<$0 * stride + k] }
            var panels: [Float] = []
            for column in Swift.stride(from: 0, to: n, by: width) {
                var panel = [Float](repeating: .nan, count: k * width)
                ck_pack_panel(Array(w[(column * k)...]), k, min(width, n - column), k, &panel)
                panels += panel
            }
            for results in onEachSet({ () -> ([Float], [Float]) in
                var all = [Float](repeating: -7, count: m * n + 1)
                ck_gemm_panels(rows, stride, m, k, panels, bias, &all, n, n)
                return (all, Self.product(a, w, bias: bias, m: m, k: k, n: n))
            }) {
                #expect(results.0 == results.1)
            }
        }

        @Test("packing a weight and packing its transpose give the same panel")
        func transposedPacking() {
            var generator = SeededGenerator(seed: 8)
            let width = ck_panel_width()
            for (columns, k) in [(1, 1), (8, 8), (width, 40), (width - 1, 33), (9, 17), (width, 7)] {
                let w = generator.floats(columns * k)
                var transposed = [Float](repeating: 0, count: columns * k)
                for column in 0..<columns {
                    for i in 0..<k { transposed[i * columns + column] = w[column * k + i] }
                }
                let expected = (0..<k).flatMap { i in
                    (0..<width).map { $0 < columns ? w[$0 * k + i] : 0 }
                }
                for results in onEachSet({ () -> ([Float], [Float]) in
                    var one = [Float](repeating: .nan, count: k * width), other = one
                    ck_pack_panel(w, k, columns, k, &one)
                    ck_pack_panel_transposed(transposed, columns, columns, k, &other)
                    return (one, other)
                }) {
                    #expect(results.0 == expected)
                    #expect(results.1 == expected)
                }
            }
        }
    }
}
