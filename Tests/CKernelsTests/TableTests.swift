import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite("masks and tables of vectors")
    struct TableTests {
        @Test("a mask spreads values over a row, and reads no more than it has bits", arguments: oddSizes)
        func masks(count: Int) {
            var generator = SeededGenerator(seed: UInt64(count))
            let mask = generator.bytes((count + 7) / 8)
            let isSet = (0..<count).map { mask[$0 / 8] >> UInt8($0 % 8) & 1 == 1 }
            let values = generator.floats(isSet.count { $0 })
            let all = Kernels.onEachSet {
                var target = [Float](repeating: 9, count: count)
                // As long as the values are, so that a sanitizer sees a read beyond them.
                values.withUnsafeBufferPointer { ck_expand_mask($0.baseAddress, mask, &target, count) }
                return target
            }
            #expect(all.agree)
            var rest = values[...]
            #expect(all[0] == isSet.map { $0 ? rest.removeFirst() : 0 })
        }

        @Test("the nearest vector, the first of equal ones, bit-equal on every set", arguments: [2, 4], [16, 64, 256])
        func vectors(size: Int, k: Int) {
            var generator = SeededGenerator(seed: UInt64(size * k))
            var entries = generator.floats(size * k)
            for place in 0..<size { entries[place * k + 7] = entries[place * k + 3] }
            var points = generator.floats(size * 100)
            for place in 0..<size { points[place] = entries[place * k + 7] }
            let all = Kernels.onEachSet {
                var codes = [UInt8](repeating: 0, count: 100)
                ck_nearest_vectors(points, 100, size, entries, k, &codes)
                return codes
            }
            #expect(all.agree)
            for point in 0..<100 {
                let distances = (0..<k).map { entry in
                    (0..<size).reduce(Float(0)) { sum, place in
                        let difference = points[point * size + place] - entries[place * k + entry]
                        return sum + difference * difference
                    }
                }
                #expect(Int(all[0][point]) == distances.firstIndex(of: distances.min() ?? 0))
            }
            #expect(all[0][0] == 3)
        }
    }
}
