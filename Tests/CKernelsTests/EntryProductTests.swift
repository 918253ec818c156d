import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    /// Products of rows that are looked up or spread: on every set, they have the bits of the product of these rows.
    @Suite struct EntryProducts {
        private static let rowCount = 7

        /// - Parameter weights: the rows, one after the other.
        /// - Parameter kernel: the product in question: first row, number of rows, target.
        private func check(
            _ x: [Float], _ weights: [Float], _ comment: Comment,
            _ kernel: (_ row: Int, _ rows: Int, UnsafeMutablePointer<Float>) -> Void
        ) {
            func products(_ part: Int, _ body: (_ row: Int, UnsafeMutablePointer<Float>) -> Void) -> [UInt32] {
                var target = [Float](repeating: -7, count: Self.rowCount + 1)
                target.withUnsafeMutableBufferPointer { target in
                    guard let start = target.baseAddress else { return }
                    for row in stride(from: 0, to: Self.rowCount, by: part) { body(row, start + row) }
                }
                return target.map(\.bitPattern)
            }
            let expected = products(Self.rowCount) { _, target in
                ck_dot(x, weights, x.count, Self.rowCount, x.count, target)
            }
            for part in [1, Self.rowCount] {
                for found in onEachSet({ products(part) { kernel($0, part, $1) } }) {
                    #expect(found == expected, comment)
                }
            }
        }

        @Test("entries of a table, by codes of one byte", arguments: [1, 2, 3, 4, 6, 8])
        func entries(bits: Int) {
            var generator = SeededGenerator(seed: UInt64(40 + bits))
            let table = generator.floats(1 << bits)
            for size in oddSizes {
                let x = generator.floats(size), stride = size + size % 3
                let codes = generator.bytes(Self.rowCount * stride).map { $0 >> (8 - bits) }
                let weights = (0..<Self.rowCount).flatMap { row in
                    (0..<size).map { table[Int(codes[row * stride + $0])] }
                }
                check(x, weights, "\(size) columns") { row, rows, target in
                    ck_dot_entries(
                        x, Array(codes[(row * stride)...]), stride, rows, size, table, Int32(bits), target)
                }
            }
        }

        @Test("an entry that is not finite counts where its code is", arguments: [1, 4, 6, 8])
        func infinite(bits: Int) {
            let table: [Float] = [.infinity] + [Float](repeating: 1, count: (1 << bits) - 1)
            for size in oddSizes where size > 0 {
                let ones = [UInt8](repeating: 1, count: size), x = [Float](repeating: 1, count: size)
                for sum in onEachSet({
                    var sum: Float = -7
                    ck_dot_entries(x, ones, size, 1, size, table, Int32(bits), &sum)
                    return sum
                }) { #expect(sum == Float(size)) }
            }
        }

        @Test("entries of several elements", arguments: [2, 4])
        func vectors(elements: Int) {
            var generator = SeededGenerator(seed: UInt64(50 + elements))
            let table = generator.floats(256 * elements)
            for size in oddSizes {
                let x = generator.floats(size), stride = (size + elements - 1) / elements
                let codes = generator.bytes(Self.rowCount * stride)
                let weights = (0..<Self.rowCount).flatMap { row in
                    (0..<size).map { table[elements * Int(codes[row * stride + $0 / elements]) + $0 % elements] }
                }
                check(x, weights, "\(size) columns") { row, rows, target in
                    ck_dot_vectors(x, Array(codes[(row * stride)...]), stride, rows, size, table, elements, target)
                }
            }
        }

        @Test("values that a mask spreads over rows", arguments: [0.0, 0.1, 0.5, 1])
        func masked(share: Double) {
            var generator = SeededGenerator(seed: UInt64(60 + 10 * share))
            for size in oddSizes {
                let x = generator.floats(size), stride = (size + 7) / 8
                var (mask, starts) = ([UInt8](repeating: 0, count: Self.rowCount * stride), [UInt32(9)])
                var (weights, values) = ([Float](), [Float]())
                for row in 0..<Self.rowCount {
                    for column in 0..<size {
                        let isKept = Double.random(in: 0..<1, using: &generator) < share
                        if isKept {
                            mask[row * stride + column / 8] |= 1 << UInt8(column % 8)
                            values.append(Float.random(in: -1...1, using: &generator))
                        }
                        weights.append(isKept ? values.last ?? 0 : 0)
                    }
                    starts.append(9 + UInt32(values.count))
                }
                // They are read, and must not count.
                let all = values + [Float](repeating: .nan, count: 16)
                check(x, weights, "\(size) columns") { row, rows, target in
                    ck_dot_masked(
                        x, Array(all[Int(starts[row] - 9)...]), Array(starts[row...]), Array(mask[(row * stride)...]),
                        stride, rows, size, target)
                }
            }
        }
    }
}
