import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("linear grids")
struct LinearGridTests {
    private static func magnitudes(_ count: Int) -> [Float] {
        var generator = SeededGenerator(seed: 3)
        return (0..<count).map { _ in
            Float(bitPattern: UInt32.random(in: 0..<Float.infinity.bitPattern, using: &generator))
        } + [Float.leastNonzeroMagnitude, Float.leastNormalMagnitude, .greatestFiniteMagnitude]
    }

    private static func grid(_ search: LinearGridSearch, _ values: [Float]) throws -> LinearGrid {
        try values.withUnsafeBufferPointer { buffer in try search.grid(for: buffer) }
    }

    @Test("values of any magnitude are within half a step, on every kind of grid")
    func halfStep() throws {
        let kinds: [(ClosedRange<Int>, Bool)] = [
            (-127...127, true), (-128...127, false), (-7...7, true), (-8...7, true), (-8...7, false),
        ]
        for (codes, isSymmetric) in kinds {
            for type in [ScaleType.float32, .float16] {
                for fit in [ScaleFit.absmax, .mse] {
                    let search = LinearGridSearch(codes: codes, isSymmetric: isSymmetric, scaleType: type, fit: fit)
                    for magnitude in Self.magnitudes(200) where type == .float32 || magnitude < 65504 {
                        for share in [Float(0), 0.3, 0.5, 0.87, 0.999, 1] {
                            for values in [[magnitude, -magnitude * share], [-magnitude, magnitude * share]] {
                                let grid = try Self.grid(search, values)
                                #expect(type.rounded(abs(grid.scale)) == abs(grid.scale))
                                var (codes, stored) = ([UInt8](repeating: 0, count: 2), [Float](repeating: 0, count: 2))
                                grid.encode(values, 2, within: search.codes, codes: &codes, stored: &stored)
                                for (value, code) in zip(values, codes) {
                                    let code = Int(Int8(truncatingIfNeeded: code))
                                    #expect(search.codes.contains(code))
                                    #expect(
                                        search.violation(of: value, code: code, on: grid) == nil,
                                        "\(values) \(grid) \(search.codes)")
                                }
                                #expect(!stored.contains { !$0.isFinite }, "\(values)")
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("the fit of least squared error is never worse, and has what 48 clips of either sign have")
    func leastSquares() throws {
        var generator = SeededGenerator(seed: 9)
        for codes in [-127...127, -7...7, -8...7] {
            for type in [ScaleType.float32, .float16] {
                let plain = LinearGridSearch(codes: codes, isSymmetric: true, scaleType: type)
                let search = LinearGridSearch(codes: codes, isSymmetric: true, scaleType: type, fit: .mse)
                var (all, tried) = (0.0, 0.0)
                for count in [1, 2, 3, 16, 32, 33, 128, 700] {
                    for _ in 0..<20 {
                        let values = OddTensor.normal(count, seed: .random(in: 0...1 << 40, using: &generator))
                        let (reference, grid) = (try Self.grid(plain, values), try Self.grid(search, values))
                        #expect(type.rounded(abs(grid.scale)) == abs(grid.scale))
                        let error = grid.squaredError(values, count, within: codes)
                        let bound = reference.squaredError(values, count, within: codes)
                        // Errors at the limit of float32 are not told apart.
                        let energy = values.reduce(0.0) { $0 + Double($1) * Double($1) }
                        #expect(error <= bound * (1 + 1e-5) + 1e-6 * energy, "\(count) values on \(codes)")
                        let largest = values.map(abs).max() ?? 0
                        let least =
                            (0..<96).map { step in
                                let scale = largest / Float(codes.upperBound) / (0.8 + 0.0125 * Float(step / 2))
                                let grid = LinearGrid(scale: step % 2 == 0 ? scale : -scale, zero: 0)
                                return grid.squaredError(values, count, within: codes)
                            }.min() ?? 0
                        if count >= 16 {
                            all += error
                            tried += least
                        }
                    }
                }
                #expect(all <= tried * (codes == -127...127 ? 1.03 : 1.01), "\(codes) \(type): \(all) against \(tried)")
            }
        }
    }

    @Test("a scale that float16 cannot hold says so")
    func overflow() {
        let search = LinearGridSearch(codes: -7...7, isSymmetric: true, scaleType: .float16)
        #expect(throws: LinearGridSearch.Overflow.self) { try search.grid(low: 0, high: 460_000) }
        #expect(throws: Never.self) { try search.grid(low: 0, high: 458_000) }
    }

    @Test("no scale one step smaller would reach all values")
    func smallest() throws {
        let search = LinearGridSearch(codes: -127...127, isSymmetric: true, scaleType: .float16)
        for magnitude in Self.magnitudes(300) where magnitude < 65504 {
            let scale = try search.grid(low: 0, high: magnitude).scale
            // Rounded to the nearest: at most half a unit in the last place above the true quotient, unless that clips.
            let smaller = Half.value(Half.bits(scale) - 1)
            #expect(smaller == 0 || magnitude / smaller > 127)
        }
    }
}
