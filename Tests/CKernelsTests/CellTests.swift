import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite("cells of a line, and palettes' errors")
    struct CellTests {
        @Test("values in cells are kept in order and counted, bit-equal on every set", arguments: oddSizes)
        func cells(count: Int) {
            var generator = SeededGenerator(seed: UInt64(count))
            let values = generator.floats(count).map { min(max($0, -4), 4) }
            let perStep = Float(1 << Int(CK_CELL_BITS) - 4) / 8
            // Every third run of 2^18 positions is cut into four cells.
            let outer = 18
            let runs = 1 << (Int(CK_CELL_BITS) - outer)
            let first = (0..<runs).map { run -> Int32 in run % 3 == 0 ? Int32(run / 3 * 4) : -1 }
            func position(_ x: Float) -> Int { Int(((x + 4) * perStep).rounded(.toNearestOrEven)) }
            let expected = values.filter { first[position($0) >> outer] >= 0 }
            let all = Kernels.onEachSet {
                first.withUnsafeBufferPointer { first in
                    var cells = ck_cells(
                        low: -4, per_step: perStep, outer: Int32(outer), inner: 16, first: first.baseAddress)
                    var kept = [Float](repeating: 0, count: count + 16)
                    let size = ck_keep_open(values, count, &cells, &kept)
                    var sums = [Double](repeating: 0, count: 2 * 4 * 6)
                    ck_add_to_cells(kept, size, &cells, 0.5, &sums)
                    return kept[..<size].map(Double.init) + sums
                }
            }
            #expect(all.agree)
            #expect(all[0].dropLast(48) == expected.map(Double.init)[...])
            var sums = [Double](repeating: 0, count: 48)
            for x in expected {
                let place = position(x)
                let cell = Int(first[place >> outer]) + ((place >> 16) & 3)
                sums[2 * cell] += 1
                sums[2 * cell + 1] += Double(x) - 0.5
            }
            #expect(all[0].suffix(48) == sums[...])
        }

        @Test("the errors of a palette's entries, bit-equal on every set", arguments: oddSizes)
        func errors(count: Int) {
            var generator = SeededGenerator(seed: UInt64(count))
            let (values, entries) = (generator.floats(count), generator.floats(16))
            let codes = generator.bytes(count).map { $0 & 15 }
            let all = Kernels.onEachSet {
                var errors = ck_errors(energy: 1, squares: 2, maximum: 0)
                ck_add_palette_errors(values, codes, count, entries, 0.3, &errors)
                return [errors.energy, errors.squares, errors.maximum]
            }
            #expect(all.agree)
            let energy = values.reduce(1) { $0 + Double($1) * Double($1) }
            let distances = zip(values, codes).map { abs(Double($0) - Double(0.3 * entries[Int($1)])) }
            let squares = distances.reduce(2) { $0 + $1 * $1 }
            #expect(abs(all[0][0] - energy) <= 1e-13 * energy && abs(all[0][1] - squares) <= 1e-13 * squares)
            #expect(all[0][2] == distances.max() ?? 0)
        }
    }
}
