import CAccelKernels
import Foundation
import TestSupport
import Testing

extension Kernels {
    @Suite struct Rows {
        typealias Kernel = @Sendable (UnsafeMutablePointer<Float>?, Int) -> Void
        struct Function: Sendable, CustomTestStringConvertible {
            let name: String
            let kernel: Kernel
            let exact: @Sendable (Double) -> Double
            var testDescription: String { name }
        }
        static let functions = [
            Function(
                name: "gelu_erf", kernel: { ck_gelu_erf($0, $1) }, exact: { $0 * erfc(-$0 / 2.0.squareRoot()) / 2 }),
            Function(
                name: "gelu_tanh", kernel: { ck_gelu_tanh($0, $1) },
                exact: { $0 / (1 + exp(-2 * (2 / Double.pi).squareRoot() * ($0 + 0.044715 * $0 * $0 * $0))) }),
            Function(name: "gelu_quick", kernel: { ck_gelu_quick($0, $1) }, exact: { $0 / (1 + exp(-1.702 * $0)) }),
            Function(name: "tanh", kernel: { ck_tanh($0, $1) }, exact: { tanh($0) }),
            Function(name: "sigmoid", kernel: { ck_sigmoid($0, $1) }, exact: { 1 / (1 + exp(-$0)) }),
            Function(name: "silu", kernel: { ck_silu($0, $1) }, exact: { $0 / (1 + exp(-$0)) }),
            Function(name: "exp", kernel: { ck_exp($0, $1) }, exact: { exp($0) }),
        ]

        static let waves = [
            Function(name: "sin", kernel: { ck_sin($0, $1) }, exact: { sin($0) }),
            Function(name: "cos", kernel: { ck_cos($0, $1) }, exact: { cos($0) }),
        ]

        static func apply(_ function: Function, _ values: [Float]) -> [Float] {
            var values = values
            values.withUnsafeMutableBufferPointer { function.kernel($0.baseAddress, $0.count) }
            return values
        }

        @Test(
            "within 4 ulp of float64 over all magnitudes up to 120, equal bits on every set",
            arguments: functions + waves)
        func accuracy(function: Function) {
            // Every 25,031st pattern from 0 to 120, both signs.
            var values: [Float] = []
            for pattern in stride(from: UInt32(0), to: Float(120).bitPattern, by: 25_031) {
                values += [Float(bitPattern: pattern), -Float(bitPattern: pattern)]
            }
            let results = onEachSet { Self.apply(function, values).map(\.bitPattern) }
            #expect(results.agree)
            var worst = (ulps: 0.0, at: Float(0))
            for (value, bits) in zip(values, results[0]) {
                let error = ulps(Float(bitPattern: bits), from: function.exact(Double(value)))
                if !(error <= worst.ulps) { worst = (error, value) }
            }
            #expect(worst.ulps <= 4, "at \(worst.at)")
        }

        @Test("NaN stays NaN, zero keeps its meaning, and huge values do not turn into NaN", arguments: functions)
        func extremes(function: Function) {
            for result in onEachSet({ Self.apply(function, [.nan, 0, 3e38, -3e38, .infinity]) }) {
                #expect(result[0].isNaN)
                #expect(result[1] == Float(function.exact(0)))
                #expect(result[2] == Float(function.exact(3e38)) || result[2] == 3e38)
                #expect(result[3] == 0 || result[3] == -1)
                #expect(!result[4].isNaN)
            }
        }

        @Test("waves of large angles are those of float64, and of infinity and NaN there are none", arguments: waves)
        func largeAngles(function: Function) {
            let angles: [Float] = [1e5, -7e5, 999_999, 1_000_001, 3e9, -3e38]
            for result in onEachSet({ Self.apply(function, angles + [.nan, .infinity, -.infinity]) }) {
                for (angle, found) in zip(angles, result) {
                    #expect(abs(Double(found) - function.exact(Double(angle))) <= 1e-7, "\(angle)")
                }
                #expect(result.suffix(3).allSatisfy { $0.isNaN })
            }
        }

        @Test("odd lengths give each element's own result and touch nothing else", arguments: functions + waves)
        func oddLengths(function: Function) {
            var generator = SeededGenerator(seed: 9)
            let values = generator.floats(1001, in: -8...8)
            let whole = Self.apply(function, values)
            for size in oddSizes {
                for result in onEachSet({
                    var copy = values
                    copy.withUnsafeMutableBufferPointer { function.kernel($0.baseAddress! + 1, size) }
                    return copy
                }) {
                    #expect(result == [values[0]] + whole[1..<1 + size] + values[(1 + size)...])
                }
            }
        }

        @Test("softmax is within 4 ulp of float64, equal on every set, and masked entries are zero")
        func softmax() {
            var generator = SeededGenerator(seed: 10)
            for size in oddSizes where size > 0 {
                var row = generator.floats(size, in: -30...30)
                if size > 4 { row[size / 2] = -.infinity }
                if size > 6 { row[1] = -Float.greatestFiniteMagnitude }
                let results = onEachSet {
                    var copy = row + [-7]
                    ck_softmax(&copy, size, ck_cancellation())
                    return copy
                }
                #expect(results.agree)
                #expect(results[0][size] == -7)
                let top = Double(row.max()!)
                let exact = row.map { exp(Double($0) - top) }
                let total = exact.reduce(0, +)
                for (found, exact) in zip(results[0], exact) { #expect(ulps(found, from: exact / total) <= 4) }
            }
        }

        @Test("softmax of scores has the bits of softmax after a product and a sum")
        func softmaxScores() {
            var generator = SeededGenerator(seed: 12)
            for size in oddSizes where size > 0 {
                for factor in [Float(0.125), -3] {
                    let row = generator.floats(size, in: -30...30)
                    var mask = generator.floats(size)
                    if size > 3 { mask[size - 2] = -.infinity }
                    let results = onEachSet {
                        var (plain, masked) = (row + [-7], row + [-7])
                        ck_softmax_scores(&plain, size, factor, nil)
                        ck_softmax_scores(&masked, size, factor, mask)
                        return [plain, masked]
                    }
                    #expect(results.agree)
                    var (plain, masked) = (row.map { $0 * factor }, zip(row, mask).map { $0 * factor + $1 })
                    ck_softmax(&plain, size, ck_cancellation())
                    ck_softmax(&masked, size, ck_cancellation())
                    #expect(results[0] == [plain + [-7], masked + [-7]])
                }
            }
        }

        @Test("softmax of a row with NaN, or masked everywhere, is NaN everywhere")
        func softmaxNaN() {
            for row in [[1, .nan, 3], [Float](repeating: -.infinity, count: 5)] {
                for result in onEachSet({
                    var copy = row
                    ck_softmax(&copy, copy.count, ck_cancellation())
                    return copy
                }) {
                    #expect(result.allSatisfy { $0.isNaN })
                }
            }
        }

        @Test("a long row has the same bits on every set, and is left between two parts when the work has to end")
        func longRows() {
            var generator = SeededGenerator(seed: 12)
            let size = 5 << 15
            let (row, gain) = (generator.floats(size), generator.floats(size))
            let ending = ck_cancellation(must_end: { _ in 1 }, context: nil)
            let kernels: [(UnsafeMutablePointer<Float>, ck_cancellation) -> Void] = [
                { ck_softmax($0, size, $1) }, { ck_layer_norm($0, gain, gain, 1e-5, $0, size, $1) },
                { ck_rms_norm($0, gain, 1e-6, $0, size, $1) },
            ]
            for kernel in kernels {
                let results = onEachSet {
                    var copy = row
                    kernel(&copy, ck_cancellation())
                    return copy
                }
                #expect(results.agree)
                var copy = row
                kernel(&copy, ending)
                #expect(copy[..<(1 << 16)] != row[..<(1 << 16)])
                #expect(copy[(1 << 16)...] == row[(1 << 16)...])
            }
        }

        @Test("layer norm rounds the float64 result once, also far from zero")
        func layerNorm() {
            var generator = SeededGenerator(seed: 11)
            for size in oddSizes where size > 0 {
                for offset in [Float(0), 1000] {
                    let x = generator.floats(size).map { $0 + offset }
                    let gain = generator.floats(size), shift = generator.floats(size)
                    let results = onEachSet {
                        var target = x + [-7]
                        target.withUnsafeMutableBufferPointer {
                            ck_layer_norm($0.baseAddress, gain, shift, 1e-12, $0.baseAddress, size, ck_cancellation())
                        }
                        return target
                    }
                    #expect(results.agree)
                    #expect(results[0][size] == -7)
                    let mean = x.reduce(0.0) { $0 + Double($1) } / Double(size)
                    let variance = x.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(size)
                    for i in 0..<size {
                        let normal = (Double(x[i]) - mean) / (variance + 1e-12).squareRoot()
                        let exact = normal * Double(gain[i]) + Double(shift[i])
                        // A sum near zero cannot be closer than its parts.
                        let slack = (abs(normal * Double(gain[i])) + abs(Double(shift[i]))) * 1e-9
                        #expect(abs(Double(results[0][i]) - exact) <= Double(Float(exact).ulp) * 0.51 + slack)
                    }
                }
            }
        }

        @Test("RMS norm rounds the float64 result once, also in place")
        func rmsNorm() {
            var generator = SeededGenerator(seed: 12)
            for size in oddSizes where size > 0 {
                for magnitude in [Float(1), 1e-20, 1e18] {
                    let x = generator.floats(size).map { $0 * magnitude }, gain = generator.floats(size)
                    let results = onEachSet {
                        var target = x + [-7]
                        target.withUnsafeMutableBufferPointer {
                            ck_rms_norm($0.baseAddress, gain, 1e-5, $0.baseAddress, size, ck_cancellation())
                        }
                        return target
                    }
                    #expect(results.agree)
                    #expect(results[0][size] == -7)
                    let squares = x.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(size)
                    for i in 0..<size {
                        let exact = Double(x[i]) / (squares + 1e-5).squareRoot() * Double(gain[i])
                        #expect(ulps(results[0][i], from: exact) <= 0.51)
                    }
                }
            }
        }

        @Test("rotation gives each pair's float64 result rounded once, and leaves what is beyond the pairs")
        func rope() {
            var generator = SeededGenerator(seed: 13)
            for half in oddSizes where half > 0 {
                let width = 2 * half + half % 3
                let x = generator.floats(width), cos = generator.floats(half), sin = generator.floats(half)
                let exact = (0..<width).map { i in
                    if i >= 2 * half { return x[i] }
                    let (a, b) = (Double(x[i % half]), Double(x[i % half + half]))
                    let (c, s) = (Double(cos[i % half]), Double(sin[i % half]))
                    return Float(i < half ? a * c - b * s : b * c + a * s)
                }
                for result in onEachSet({
                    var target = [Float](repeating: -7, count: width + 1)
                    ck_rope(x, cos, sin, half, &target, width)
                    return target
                }) {
                    #expect(result == exact + [-7])
                }
            }
        }

        @Test(
            "layer norm of a constant row is the shift, whatever the constant",
            arguments: [0, 1, -3.7e-20, 1e30] as [Float])
        func constantRow(value: Float) {
            let shift: [Float] = (0..<37).map { Float($0) }
            for result in onEachSet({
                var target = [Float](repeating: value, count: 37)
                ck_layer_norm(target, [Float](repeating: 2, count: 37), shift, 1e-12, &target, 37, ck_cancellation())
                return target
            }) {
                #expect(result == shift)
            }
        }
    }
}
