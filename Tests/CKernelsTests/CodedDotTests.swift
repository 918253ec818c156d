import CAccelKernels
import TestSupport
import Testing

/// Rows of codes, with scales and shifts of blocks.
extension Kernels.Dot {
    /// Six rows of codes, the scales of their blocks, and a vector.
    private struct Coded {
        let (size, stride, block, blocks): (Int, Int, Int, Int)
        let (x, interleaved): ([Float], [Float])
        let codes: [UInt8]
        /// Numbers of float16 and of bfloat16.
        let scales: [Float]
        let halfScales: [UInt16]
        var bfloatScales: [UInt16] { scales.map { UInt16($0.bitPattern >> 16) } }

        func scale(_ row: Int, _ column: Int) -> Double {
            blocks == 0 ? 1 : Double(scales[row * blocks + column / block])
        }

        func nibble(_ row: Int, _ column: Int) -> Int {
            Int(codes[row * stride + column / 2] >> (column % 2 * 4) & 15)
        }

        /// - Parameter block: 0 for no scales.
        /// - Parameter everyBlock: blocks may have any size.
        init?(
            _ size: Int, stride: Int, block: Int, everyBlock: Bool = false, _ generator: inout SeededGenerator
        ) {
            (self.size, self.stride, self.block) = (size, stride, min(block, size))
            blocks = block == 0 ? 0 : (size + self.block - 1) / self.block
            // A block that is the whole row may have any size.
            guard everyBlock || blocks <= 1 || [16, 32, 64, 128].contains(self.block) else { return nil }
            x = generator.floats(size)
            codes = generator.bytes(6 * stride)
            var halves = [UInt16](repeating: 0, count: 6 * blocks), scales = halves.map { Float($0) }
            ck_f32_to_f16(generator.floats(6 * blocks, in: 0.001...4), &halves, halves.count)
            // Seven bits of the fraction, as bfloat16 has.
            for index in halves.indices { halves[index] &= 0xFFF8 }
            ck_f16_to_f32(halves, &scales, halves.count)
            (self.scales, halfScales) = (scales, halves)
            var interleaved = [Float](repeating: .nan, count: ck_interleaved_count(size))
            ck_interleave(x, size, &interleaved)
            self.interleaved = interleaved
        }
    }

    /// Checks rows of codes of all odd sizes, with scales of float32, of float16 and of bfloat16, which give the same bits.
    private func check(
        seed: UInt64, block: Int, stride: (_ size: Int) -> Int,
        exact: (Coded, _ row: Int) -> (sum: Double, size: Double),
        _ kernel: (
            Coded, _ rows: Int, UnsafePointer<UInt8>?, _ scales: UnsafeRawPointer?, ck_type,
            UnsafeMutablePointer<Float>?
        ) -> Void
    ) {
        var generator = SeededGenerator(seed: seed)
        for size in oddSizes where size > 0 {
            guard let coded = Coded(size, stride: stride(size), block: block, &generator) else { continue }
            check(6, exact: { exact(coded, $0) }, "\(size) columns, \(coded.blocks) blocks") { rows, target in
                coded.codes.withUnsafeBufferPointer { codes in
                    let codes = codes.baseAddress.map { $0 + rows.lowerBound * coded.stride }
                    coded.scales.withUnsafeBufferPointer {
                        let scales = $0.baseAddress.map { $0 + rows.lowerBound * coded.blocks }
                        kernel(coded, rows.count, codes, scales, CK_F32, target)
                    }
                    for (type, scales) in [(CK_F16, coded.halfScales), (CK_BF16, coded.bfloatScales)] {
                        var sums = [Float](repeating: .nan, count: rows.count)
                        scales.withUnsafeBufferPointer {
                            let scales = $0.baseAddress.map { $0 + rows.lowerBound * coded.blocks }
                            kernel(coded, rows.count, codes, scales, type, &sums)
                        }
                        #expect(sums.map(\.bitPattern) == (0..<rows.count).map { target?[$0].bitPattern })
                    }
                }
            }
        }
    }

    private func lookUp(
        _ table: [Float], _ coded: Coded, _ rows: Int, _ codes: UnsafePointer<UInt8>?,
        _ scales: UnsafeRawPointer?, _ type: ck_type, _ target: UnsafeMutablePointer<Float>?
    ) {
        ck_dot_codes4(
            coded.interleaved, codes, coded.stride, rows, coded.size, table, scales, type, coded.blocks,
            coded.block, target)
    }

    @Test(
        "rows of 4-bit codes with a table, and no scales or those of blocks",
        arguments: [0, 16, 32, 64, 128, 1 << 20])
    func codes4(block: Int) {
        var generator = SeededGenerator(seed: 23)
        let table = generator.floats(16)
        check(
            seed: 29, block: block, stride: { ($0 + 1) / 2 },
            exact: { coded, row in
                exact(coded.x) { Double(table[coded.nibble(row, $0)]) * coded.scale(row, $0) }
            }
        ) { coded, rows, codes, scales, type, target in
            lookUp(table, coded, rows, codes, scales, type, target)
        }
    }

    @Test(
        "rows of 4-bit codes in two's complement, or biased, with the bits of a table of these numbers",
        arguments: [0, 16, 32, 64, 128, 1 << 20], [false, true])
    func nibbles(block: Int, isBiased: Bool) {
        let numbers = (0..<16).map { code in isBiased ? code - 8 : code < 8 ? code : code - 16 }
        let table = numbers.map { Float($0) }
        check(
            seed: 28, block: block, stride: { ($0 + 1) / 2 },
            exact: { coded, row in
                exact(coded.x) { Double(numbers[coded.nibble(row, $0)]) * coded.scale(row, $0) }
            }
        ) { coded, rows, codes, scales, type, target in
            ck_dot_nibbles(
                coded.interleaved, codes, coded.stride, rows, coded.size, isBiased ? 1 : 0, scales, type,
                coded.blocks, coded.block, target)
            var sums = [Float](repeating: .nan, count: rows)
            lookUp(table, coded, rows, codes, scales, type, &sums)
            #expect(sums.map(\.bitPattern) == (0..<rows).map { target?[$0].bitPattern })
        }
    }

    @Test(
        "rows of codes of one byte about their middle, and no scales or those of blocks",
        arguments: [0, 16, 32, 64, 1 << 20])
    func bytes(block: Int) {
        check(
            seed: 25, block: block, stride: { $0 + $0 % 3 },
            exact: { coded, row in
                exact(coded.x) {
                    (Double(coded.codes[row * coded.stride + $0]) - 128) * coded.scale(row, $0)
                }
            }
        ) { coded, rows, codes, scales, type, target in
            ck_dot_bytes(
                coded.x, codes, coded.stride, rows, coded.size, 8, scales, type, coded.blocks, coded.block,
                target)
        }
    }

    @Test("sums of blocks", arguments: [1, 16, 32, 50])
    func sums(block: Int) {
        var generator = SeededGenerator(seed: 26)
        for size in oddSizes where size > 0 {
            let x = generator.floats(size), blocks = (size + block - 1) / block
            let results = Kernels.onEachSet {
                var sums = [Float](repeating: -7, count: blocks + 1)
                ck_sum_blocks(x, size, block, &sums)
                return sums
            }
            #expect(results.agree)
            #expect(results[0][blocks] == -7)
            for index in 0..<blocks {
                let part = x[index * block..<min((index + 1) * block, size)]
                let exact = part.reduce(0.0) { $0 + Double($1) }
                #expect(abs(Double(results[0][index]) - exact) <= 1e-6 * part.reduce(0.0) { $0 + Double(abs($1)) })
            }
        }
    }

    @Test(
        "rows of float8 numbers, with scales of rows or of blocks, or with scales that rows share",
        arguments: [false, true], [32, 128, 1 << 20])
    func float8(isE5M2: Bool, block: Int) {
        var generator = SeededGenerator(seed: 31)
        let numbers = float8Numbers(isE5M2: isE5M2)
        for areShared in [false, true] {
            for size in oddSizes where size > 0 {
                guard let coded = Coded(size, stride: size, block: block, &generator) else { continue }
                let codes = coded.codes.map { numbers[Int($0)].isFinite ? $0 : 0 }
                check(
                    6,
                    exact: { row in
                        exact(coded.x) {
                            Double(numbers[Int(codes[row * size + $0])]) * coded.scale(areShared ? 0 : row, $0)
                        }
                    }, "\(size) columns, \(coded.blocks) blocks"
                ) { rows, target in
                    let first = areShared ? 0 : rows.lowerBound * coded.blocks
                    ck_dot_float8(
                        coded.x, Array(codes[(rows.lowerBound * size)...]), size, rows.count, size, isE5M2 ? 1 : 0,
                        Array(coded.scales[first...]), areShared ? 0 : coded.blocks, coded.blocks, coded.block,
                        target)
                }
            }
        }
    }

    /// The numbers by code.
    private func float8Numbers(isE5M2: Bool) -> [Float] {
        var numbers = [Float](repeating: -7, count: 256)
        ck_decode_float8((0...255).map { UInt8($0) }, isE5M2 ? 1 : 0, 1, 256, &numbers)
        return numbers
    }

    @Test("each code of float8 is its number", arguments: [false, true])
    func float8Codes(isE5M2: Bool) {
        for (code, number) in float8Numbers(isE5M2: isE5M2).enumerated() {
            let results = Kernels.onEachSet {
                var sum: Float = -7
                ck_dot_float8([1], [UInt8(code)], 1, 1, 1, isE5M2 ? 1 : 0, [1], 1, 1, 1, &sum)
                return sum
            }
            for result in results { #expect(result == number || result.isNaN && number.isNaN) }
        }
    }

    @Test("products of the sums of blocks with biases, or with zero points of four bits")
    func shifts() {
        var generator = SeededGenerator(seed: 30)
        for blocks in oddSizes where blocks > 0 {
            // In blocks of one column: the scales of their sums, and bytes in which there are zero points.
            let stride = (blocks + 1) / 2
            guard
                let coded = Coded(blocks, stride: stride, block: 1, everyBlock: true, &generator),
                let other = Coded(blocks, stride: stride, block: 1, everyBlock: true, &generator)
            else { continue }
            let sums = coded.x + [Float](repeating: 0, count: 15)
            for (type, scales, biases) in [
                (CK_F32, bytes(of: coded.scales), bytes(of: other.scales)),
                (CK_F16, bytes(of: coded.halfScales), bytes(of: other.halfScales)),
                (CK_BF16, bytes(of: coded.bfloatScales), bytes(of: other.bfloatScales)),
            ] {
                let rowBytes = scales.count / 6
                check(
                    6,
                    exact: { row in
                        exact(coded.x) { other.scale(row, $0) + 8 * coded.scale(row, $0) }
                    }, "biases of \(blocks) blocks"
                ) { rows, target in
                    let first = rows.lowerBound * rowBytes
                    ck_dot_biases(
                        sums, Array(scales[first...]), Array(biases[first...]), type, 8, rows.count, blocks, target)
                }
                check(
                    6,
                    exact: { row in
                        exact(coded.x) {
                            let code = coded.nibble(row, $0)
                            return Double(code < 8 ? -code : 16 - code) * coded.scale(row, $0)
                        }
                    }, "zero points of \(blocks) blocks"
                ) { rows, target in
                    ck_dot_zeros(
                        sums, Array(scales[(rows.lowerBound * rowBytes)...]), type,
                        Array(coded.codes[(rows.lowerBound * stride)...]), stride, rows.count, blocks, target)
                }
            }
        }
    }

    private func bytes<Element>(of values: [Element]) -> [UInt8] { values.withUnsafeBytes { Array($0) } }
}
