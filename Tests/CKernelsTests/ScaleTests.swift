import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite("scales")
    struct ScaleTests {
        private struct Sums: Equatable {
            var products = [Double](repeating: 0, count: 16)
            var squares = [Double](repeating: 0, count: 16)
        }

        private static func sums(
            _ values: [Float], _ weights: [Float]?, _ inverses: [Float], _ low: Float, _ high: Float
        )
            -> Sums
        {
            var sums = Sums()
            values.withUnsafeBufferPointer { values in
                ck_try_scales(
                    values.baseAddress, weights, values.count, inverses, low, high, &sums.products, &sums.squares)
            }
            return sums
        }

        @Test("sums of a table's entries are those of the nearest, bit-equal on every set", arguments: oddSizes)
        func tables(count: Int) {
            var generator = SeededGenerator(seed: UInt64(count))
            let inverses = (1...16).map { Float($0) * ($0 % 2 == 0 ? 0.25 : -0.25) }
            let values = generator.floats(count)
            let weights = generator.floats(count, in: 0...3)
            let table = generator.floats(16).sorted()
            let bounds = zip(table, table.dropFirst()).map { ($0 + $1) / 2 }
            for weighted in [nil, weights] {
                let all = Kernels.onEachSet {
                    var sums = Sums()
                    values.withUnsafeBufferPointer { values in
                        ck_try_table_scales(
                            values.baseAddress, weighted, count, inverses, table, bounds, &sums.products, &sums.squares)
                    }
                    return sums
                }
                #expect(all.agree)
                for lane in 0..<16 {
                    var (product, square) = (0.0, 0.0)
                    for (index, value) in values.enumerated() {
                        let x = value * inverses[lane]
                        let entry = Double(table[bounds.prefix { x > $0 }.count])
                        let weight = Double(weighted?[index] ?? 1)
                        product += weight * Double(x) * entry
                        square += weight * entry * entry
                    }
                    #expect(abs(all[0].products[lane] - product) <= 1e-5 * (square + 1))
                    #expect(abs(all[0].squares[lane] - square) <= 1e-5 * (square + 1))
                }
            }
        }

        @Test("sums of codes are those of rounded and clipped quotients, bit-equal on every set", arguments: oddSizes)
        func meaning(count: Int) {
            var generator = SeededGenerator(seed: UInt64(count))
            let inverses = (1...16).map { Float($0) * ($0 % 2 == 0 ? 1 : -1) }
            let values = generator.floats(count + 1)
            let weights = generator.floats(count + 1, in: 0...3)
            for offset in [0, 1] {
                let part = Array(values[offset..<offset + count])
                for weighted in [nil, Array(weights[offset..<offset + count])] {
                    for (low, high) in [(Float(-8), Float(7)), (-127, 127)] {
                        let all = Kernels.onEachSet { Self.sums(part, weighted, inverses, low, high) }
                        #expect(all.agree)
                        for lane in 0..<16 {
                            var (product, square) = (0.0, 0.0)
                            for (index, value) in part.enumerated() {
                                let x = value * inverses[lane]
                                let code = Double(min(max(x, low), high).rounded(.toNearestOrEven))
                                let weight = Double(weighted?[index] ?? 1)
                                product += weight * Double(x) * code
                                square += weight * code * code
                            }
                            #expect(abs(all[0].products[lane] - product) <= 1e-5 * (abs(product) + 1))
                            #expect(abs(all[0].squares[lane] - square) <= 1e-5 * (square + 1))
                        }
                    }
                }
            }
        }
    }
}
