import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Rows rounded to 8 bits, and their products with codes: the same bits on every set.
    @Suite struct Integers {
        struct Rounded: Equatable {
            var steps: [Int16]
            var scale: UInt32
            var lowest: Int32

            init(_ x: [Float], to range: ck_rounding? = nil) {
                var rounding = ck_rounding()
                steps = [Int16](repeating: -7, count: ck_step_stride(x.count) + 1)
                if var range {
                    ck_round_row(x, x.count, &range, &steps, &rounding)
                } else {
                    ck_round_row(x, x.count, nil, &steps, &rounding)
                }
                (scale, lowest) = (rounding.scale.bitPattern, rounding.lowest)
            }
            var rounding: ck_rounding { ck_rounding(scale: Float(bitPattern: scale), lowest: lowest) }
        }

        static let rows: [[Float]] = [
            [0, 0, 0], [1], [-1], [0.5, -0.5], [.leastNonzeroMagnitude, 0],
            [-.leastNonzeroMagnitude, 3 * .leastNonzeroMagnitude], [3.4e38, -3.4e38], [1, .infinity],
            [.nan, 1], [0, -.infinity, 5], [-3, -2, -1], [3, 2, 1, 0.003921569, 0.0058823535],
        ]

        @Test("a row is rounded to the nearest steps of its range, and zeros follow")
        func rounding() {
            var generator = SeededGenerator(seed: 3)
            for x in Self.rows + oddSizes.map({ generator.floats($0, in: -2...5) }) {
                let results = onEachSet { Rounded(x) }
                #expect(results.agree)
                let (steps, rounding) = (results[0].steps, results[0].rounding)
                #expect(steps[x.count..<steps.count - 1].allSatisfy { $0 == 0 } && steps.last == -7)
                let codes = onEachSet {
                    var (own, direct) = (ck_rounding(), [UInt8](repeating: 7, count: ck_step_stride(x.count) + 1))
                    ck_round_row_to_codes(x, x.count, nil, &direct, &own)
                    return [Int32(bitPattern: own.scale.bitPattern), own.lowest] + direct.map(Int32.init)
                }
                var expected = [UInt8](repeating: 7, count: ck_step_stride(x.count) + 1)
                ck_step_codes(steps, x.count, rounding, &expected)
                #expect(codes.agree)
                #expect(Array(codes[0].dropFirst(2)) == expected.map(Int32.init))
                #expect(codes[0][0] == Int32(bitPattern: rounding.scale.bitPattern) && codes[0][1] == rounding.lowest)
                let targets = onEachSet {
                    var target = [Float](repeating: -7, count: x.count + 1)
                    ck_rounded_row(x, x.count, nil, &target)
                    return target.map(\.bitPattern)
                }
                #expect(targets.agree)
                guard x.allSatisfy(\.isFinite) else {
                    #expect(rounding.scale.isNaN && steps[..<x.count].allSatisfy { $0 == 0 })
                    #expect(targets[0][..<x.count].allSatisfy { Float(bitPattern: $0).isNaN })
                    continue
                }
                #expect((-255...0).contains(rounding.lowest))
                for (index, element) in x.enumerated() {
                    let step = Int32(steps[index])
                    #expect((rounding.lowest...rounding.lowest + 255).contains(step))
                    // Half a step, and the rounding of the quotient and of the range's ends.
                    #expect(
                        abs(Double(element) - Double(step) * Double(rounding.scale)) <= 0.501 * Double(rounding.scale))
                    #expect(targets[0][index] == (Float(step) * rounding.scale).bitPattern)
                }
            }
        }

        @Test("a row is rounded to a given range, outside of which elements become its ends")
        func range() {
            var generator = SeededGenerator(seed: 4)
            var range = ck_rounding(scale: 0.0078125, lowest: -64)
            for x in Self.rows + oddSizes.map({ generator.floats($0, in: -2...5) }) {
                let results = onEachSet { Rounded(x, to: range) }
                #expect(results.agree)
                let targets = onEachSet {
                    var target = [Float](repeating: -7, count: x.count + 1)
                    ck_rounded_row(x, x.count, &range, &target)
                    return target.map(\.bitPattern)
                }
                #expect(targets.agree)
                guard x.allSatisfy(\.isFinite) else {
                    #expect(results[0] == Rounded(x))
                    continue
                }
                #expect(results[0].rounding.scale == range.scale && results[0].rounding.lowest == range.lowest)
                for (index, element) in x.enumerated() {
                    let step = min(max((element * 128).rounded(.toNearestOrEven), -64), 191)
                    #expect(Float(results[0].steps[index]) == step)
                    #expect(Float(bitPattern: targets[0][index]) == step * range.scale)
                }
                // A row's own range gives what it gives without one.
                let own = Rounded(x)
                #expect(Rounded(x, to: own.rounding) == own)
            }
        }

        /// Weights of `rows` rows: codes of one byte, with scales and shifts of blocks.
        struct Weights {
            let (rows, columns, block, blocks): (Int, Int, Int, Int)
            var codes: [UInt8]
            /// Numbers of float16.
            let scales: [Float]
            let shifts: [Float]
            var halves: [UInt16] { scales.map { Float16($0).bitPattern } }

            init(_ rows: Int, _ columns: Int, block: Int, _ generator: inout SeededGenerator) {
                (self.rows, self.columns, self.block) = (rows, columns, min(block, columns))
                blocks = (columns + self.block - 1) / self.block
                codes = generator.bytes(rows * columns)
                scales = generator.floats(rows * blocks).map { Float(Float16($0)) }
                shifts = generator.floats(rows * blocks)
            }

            func panel(from first: Int, of numbers: [Float]) -> [Float] {
                let width = ck_panel_width()
                return (0..<blocks * width).map { index in
                    let row = first + index % width
                    return row < rows ? numbers[row * blocks + index / width] : 0
                }
            }

            /// The exact product of a row of steps with a row of codes, and the sum of its magnitudes.
            func exact(_ steps: ArraySlice<Int16>, scale: Float, row: Int, shifted: Bool, code: (Int) -> Int)
                -> (sum: Double, size: Double)
            {
                var (sum, size) = (0.0, 0.0)
                for (index, step) in steps.prefix(columns).enumerated() {
                    let number = row * blocks + index / block
                    let parts = [
                        Double(step) * Double(code(index)) * Double(scales[number]),
                        shifted ? Double(step) * Double(shifts[number]) : 0,
                    ]
                    sum += parts[0] + parts[1]
                    size += abs(parts[0]) + abs(parts[1])
                }
                return (sum * Double(scale), size * Double(scale))
            }
        }

        static let shapes: [[Int]] = [
            // Rows of x, columns, rows of weights, block.
            [1, 1, 1, 1], [2, 7, 5, 7], [3, 16, 33, 16], [6, 48, 64, 16], [7, 130, 40, 32], [13, 96, 31, 64],
            [15, 257, 65, 257], [16, 200, 32, 64], [29, 65, 32, 128], [47, 70, 33, 20], [140, 34, 33, 34],
            [5, 300, 70, 128], [4, 15, 32, 15], [1, 1100, 9, 32], [1, 1024, 4, 32], [2, 545, 5, 32], [1, 31, 3, 32],
        ]

        /// How codes of one byte are read.
        struct Reading {
            let bits: Int
            let (flipped, middle): (UInt8, UInt8)
            let shifted: Bool
        }

        @Test(
            "panels of codes: both layouts and every set give the scalar form's bits, and write nothing else",
            arguments: shapes)
        func panels(shape: [Int]) {
            let (m, k, n) = (shape[0], shape[1], shape[2])
            var generator = SeededGenerator(seed: UInt64(m * 1000 + k * 10 + n))
            let all = Weights(n, k, block: shape[3], &generator)
            var x = generator.floats(m * k, in: -1...3)
            x.replaceSubrange(0..<k, with: repeatElement(3, count: k))
            for reading in [
                Reading(bits: 8, flipped: 0, middle: 0, shifted: false),
                Reading(bits: 8, flipped: 0, middle: 128, shifted: true),
                Reading(bits: 4, flipped: 8, middle: 8, shifted: false),
                Reading(bits: 4, flipped: 0, middle: 8, shifted: true),
            ] {
                var weights = all
                weights.codes = all.codes.map { $0 & UInt8(1 << reading.bits - 1) }
                // A row of the lowest code, whose sums with x's first row are as large as they can be.
                let lowest = reading.flipped ^ (reading.middle &- UInt8(1 << (reading.bits - 1)))
                weights.codes.replaceSubrange(0..<k, with: repeatElement(lowest, count: k))
                let (flipped, middle, shifted) = (reading.flipped, reading.middle, reading.shifted)
                let layouts = weights.blocks == 1 || weights.block % 4 == 0 ? [false, true] : [false]
                let results = layouts.flatMap { hasQuads in
                    onEachSet { product(x, m, weights, reading, hasQuads: hasQuads, gap: 3).map(\.bitPattern) }
                }
                #expect(results.agree)
                for row in 0..<m {
                    let rounded = Rounded(Array(x[row * k..<(row + 1) * k]))
                    for column in 0..<n + 3 {
                        let found = Float(bitPattern: results[0][row * (n + 3) + column])
                        guard column < n else {
                            #expect(found == -7)
                            continue
                        }
                        let (sum, size) = weights.exact(
                            rounded.steps[...], scale: rounded.rounding.scale, row: column, shifted: shifted
                        ) { Int(Int8(truncatingIfNeeded: Int(weights.codes[column * k + $0] ^ flipped) - Int(middle))) }
                        let bias = shifted ? Double(Self.bias(n)[column]) : 0
                        #expect(abs(Double(found) - sum - bias) <= 4e-7 * (size + abs(bias)), "[\(row), \(column)]")
                    }
                }
            }
        }

        private static func bias(_ count: Int) -> [Float] { (0..<count).map { Float($0) / 3 - 5 } }

        private func product(
            _ x: [Float], _ m: Int, _ weights: Weights, _ reading: Reading, hasQuads: Bool, gap: Int
        ) -> [Float] {
            let (k, n, width) = (weights.columns, weights.rows, ck_panel_width())
            let (stride, bytes) = (ck_step_stride(k), ck_int8_panel_bytes(k))
            var steps = [Int16](repeating: 0, count: m * stride)
            var stepCodes = [UInt8](repeating: 0, count: m * stride)
            var roundings = [ck_rounding](repeating: ck_rounding(), count: m)
            var sums = [Int32](repeating: 0, count: m * weights.blocks)
            for row in 0..<m {
                let rounded = Rounded(Array(x[row * k..<(row + 1) * k]))
                steps.replaceSubrange(row * stride..<(row + 1) * stride, with: rounded.steps.dropLast())
                roundings[row] = rounded.rounding
                var ownCodes = [UInt8](repeating: 0, count: stride)
                ck_step_codes(rounded.steps, k, rounded.rounding, &ownCodes)
                stepCodes.replaceSubrange(row * stride..<(row + 1) * stride, with: ownCodes)
                var own = [Int32](repeating: 0, count: weights.blocks)
                ck_sum_steps(rounded.steps, k, weights.block, &own)
                sums.replaceSubrange(row * weights.blocks..<(row + 1) * weights.blocks, with: own)
            }
            var panels = ck_int8_panels()
            (panels.depth, panels.block, panels.blocks) = (k, weights.block, weights.blocks)
            (panels.bits, panels.has_quads) = (Int32(reading.bits), hasQuads ? 1 : 0)
            var (codes, scales, shifts, codeSums): ([Int8], [Float], [Float], [Int32]) = ([], [], [], [])
            for first in Swift.stride(from: 0, to: n, by: width) {
                var panel = [Int8](repeating: 77, count: bytes + 1)
                var sums = [Int32](repeating: 77, count: width * weights.blocks + 1)
                weights.codes.withUnsafeBufferPointer {
                    ck_pack_int8_panel(
                        $0.baseAddress! + first * k, k, min(width, n - first), reading.flipped, reading.middle,
                        &panels, &panel, &sums)
                }
                #expect(panel.last == 77 && sums.last == 77)
                codes += panel.dropLast()
                codeSums += sums.dropLast()
                scales += weights.panel(from: first, of: weights.scales)
                shifts += weights.panel(from: first, of: weights.shifts)
            }
            var c = [Float](repeating: -7, count: m * (n + gap))
            let bias = Self.bias(n)
            withExtendedLifetime((codes, scales, shifts, codeSums, steps, stepCodes, roundings, sums, bias)) {
                var rows = ck_rounded_rows(
                    steps: start(steps), step_codes: start(stepCodes), stride: stride, roundings: start(roundings),
                    sums: reading.shifted ? start(sums) : nil)
                (panels.codes, panels.code_sums, panels.scales) = (start(codes), start(codeSums), start(scales))
                panels.shifts = reading.shifted ? start(shifts) : nil
                ck_gemm_int8(&rows, 0, m, &panels, reading.shifted ? start(bias) : nil, n, &c, n + gap)
            }
            return c
        }

        /// The address of an array that lives on.
        private func start<Element>(_ array: [Element]) -> UnsafePointer<Element>? {
            array.withUnsafeBufferPointer(\.baseAddress)
        }

        @Test(
            "rows of codes: every set gives the scalar form's bits, whatever rows are beside a row", arguments: shapes)
        func vectors(shape: [Int]) {
            let (k, n) = (shape[1], shape[2])
            var generator = SeededGenerator(seed: UInt64(k * 10 + n))
            let weights = Weights(n, k, block: shape[3], &generator)
            let rounded = Rounded(generator.floats(k, in: -1...3))
            let stride = (k + 1) / 2
            for shifted in [false, true] {
                check(weights, rounded, shifted: shifted) { row, column in
                    Int(weights.codes[row * k + column]) - 128
                } kernel: { x, codes, rows, target in
                    ck_dot_int8_bytes(x, codes + rows.lowerBound * k, k, rows.count, 0, 128, target)
                }
                guard weights.blocks == 1 || weights.block % 32 == 0 else { continue }
                for biased in [0, 1] as [Int32] {
                    check(weights, rounded, shifted: shifted) { row, column in
                        let nibble = Int(weights.codes[row * stride + column / 2] >> (column % 2 * 4) & 15)
                        return biased == 1 ? nibble - 8 : (nibble ^ 8) - 8
                    } kernel: { x, codes, rows, target in
                        ck_dot_int8_nibbles(x, codes + rows.lowerBound * stride, stride, rows.count, biased, target)
                    }
                }
            }
        }

        private func check(
            _ weights: Weights, _ rounded: Rounded, shifted: Bool, code: (_ row: Int, _ column: Int) -> Int,
            kernel: (
                UnsafePointer<ck_int8_dot>, UnsafePointer<UInt8>, Range<Int>, UnsafeMutablePointer<Float>
            ) -> Void
        ) {
            let (n, k) = (weights.rows, weights.columns)
            let results = onEachSet {
                let whole = products(weights, rounded, shifted: shifted, of: [0..<n], kernel)
                let single = products(weights, rounded, shifted: shifted, of: (0..<n).map { $0..<$0 + 1 }, kernel)
                #expect(whole == single)
                let halves = weights.halves
                let ofHalves = halves.withUnsafeBufferPointer {
                    products(weights, rounded, shifted: shifted, halves: $0.baseAddress, of: [0..<n], kernel)
                }
                #expect(whole == ofHalves)
                return whole
            }
            #expect(results.agree)
            for row in 0..<n {
                let (sum, size) = weights.exact(
                    rounded.steps[...], scale: rounded.rounding.scale, row: row, shifted: shifted
                ) { code(row, $0) }
                let found = Double(Float(bitPattern: results[0][row]))
                #expect(abs(found - sum) <= 4e-7 * size, "row \(row) of \(n)x\(k)")
            }
        }

        private func products(
            _ weights: Weights, _ rounded: Rounded, shifted: Bool, halves: UnsafePointer<UInt16>? = nil,
            of ranges: [Range<Int>],
            _ kernel: (
                UnsafePointer<ck_int8_dot>, UnsafePointer<UInt8>, Range<Int>, UnsafeMutablePointer<Float>
            ) -> Void
        ) -> [UInt32] {
            var sums = [Int32](repeating: 0, count: weights.blocks)
            ck_sum_steps(rounded.steps, weights.columns, weights.block, &sums)
            var stepCodes = [UInt8](repeating: 0, count: ck_step_stride(weights.columns))
            ck_split_step_codes(rounded.steps, weights.columns, rounded.rounding, &stepCodes)
            var result = [Float](repeating: -7, count: weights.rows + 1)
            rounded.steps.withUnsafeBufferPointer { steps in
                stepCodes.withUnsafeBufferPointer { stepCodes in
                    sums.withUnsafeBufferPointer { sums in
                        weights.scales.withUnsafeBufferPointer { scales in
                            weights.shifts.withUnsafeBufferPointer { shifts in
                                weights.codes.withUnsafeBufferPointer { codes in
                                    for rows in ranges {
                                        let first = rows.lowerBound * weights.blocks
                                        var x = ck_int8_dot(
                                            steps: steps.baseAddress, step_codes: stepCodes.baseAddress,
                                            rounding: rounded.rounding, sums: sums.baseAddress,
                                            scale_halves: halves.map { $0 + first },
                                            scales: halves == nil ? scales.baseAddress! + first : nil,
                                            shifts: shifted ? shifts.baseAddress! + first : nil,
                                            count: weights.columns, block: weights.block, blocks: weights.blocks)
                                        result.withUnsafeMutableBufferPointer {
                                            kernel(&x, codes.baseAddress!, rows, $0.baseAddress! + rows.lowerBound)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            #expect(result.last == -7)
            return result.dropLast().map(\.bitPattern)
        }
    }
}
