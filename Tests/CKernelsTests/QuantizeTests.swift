import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite struct Quantize {
        /// Values as they lie in a file, `shift` bytes off.
        struct Stored {
            let type: ck_type
            let bytes: [UInt8]
            let floats: [Float]
            private let shift: Int

            init(_ floats: [Float], _ type: ck_type, shift: Int) {
                self.type = type
                self.shift = shift
                var halves = [UInt16](repeating: 0, count: floats.count)
                var back = floats
                switch type {
                case CK_F16:
                    ck_f32_to_f16(floats, &halves, floats.count)
                    ck_f16_to_f32(halves, &back, floats.count)
                case CK_BF16:
                    ck_f32_to_bf16(floats, &halves, floats.count)
                    ck_bf16_to_f32(halves, &back, floats.count)
                default: break
                }
                self.floats = back
                let stored = type == CK_F32 ? back.withUnsafeBytes(Array.init) : halves.withUnsafeBytes(Array.init)
                bytes = [UInt8](repeating: 0xFF, count: shift) + stored + [0xFF, 0xFF, 0xFF, 0xFF]
            }

            func withValues<Result>(_ body: (UnsafeRawPointer) -> Result) -> Result {
                bytes.withUnsafeBytes { body($0.baseAddress! + shift) }
            }
        }

        static let types = [CK_F32, CK_F16, CK_BF16]

        private static func rounded(_ x: Float) -> Float { x.rounded(.toNearestOrEven) }

        @Test("extremes of odd lengths and starts, and what is not finite")
        func extremes() {
            var generator = SeededGenerator(seed: 1)
            for type in Self.types {
                for size in oddSizes where size > 0 {
                    let stored = Stored(generator.floats(size, in: -9...7), type, shift: size % 3)
                    let results = onEachSet {
                        var (low, high) = (Float(5), Float(-5))
                        let isFinite = stored.withValues { ck_extremes($0, type, size, &low, &high) }
                        return [Float(isFinite), low, high]
                    }
                    #expect(results.agree)
                    #expect(results[0] == [1, min(stored.floats.min()!, 0), max(stored.floats.max()!, 0)])
                    for odd: Float in [.nan, -.nan, .infinity, -.infinity] {
                        var floats = stored.floats
                        floats[Int.random(in: 0..<size, using: &generator)] = odd
                        let broken = Stored(floats, type, shift: 1)
                        let found = onEachSet {
                            var (low, high) = (Float(0), Float(0))
                            return broken.withValues { ck_extremes($0, type, size, &low, &high) }
                        }
                        #expect(found.allSatisfy { $0 == 0 }, "\(odd) among \(size)")
                    }
                }
            }
        }

        @Test("bytes are the nearest codes of true quotients, on every set, for odd lengths and starts")
        func bytes() {
            var generator = SeededGenerator(seed: 2)
            for type in Self.types {
                for size in oddSizes + [4096] {
                    for scale: Float in [0.01, -0.013, 0.333, 0.0625] {
                        var floats = generator.floats(size, in: -1...1).map { $0 * 127 * abs(scale) }
                        // Middles between codes, and their neighbours.
                        for index in stride(from: 0, to: size, by: 5) {
                            let middle = (Float(Int.random(in: -127..<127, using: &generator)) + 0.5) * scale
                            floats[index] = [middle, middle.nextUp, middle.nextDown].randomElement(using: &generator)!
                        }
                        let stored = Stored(floats, type, shift: size % 3)
                        var sums: [[Double]] = []
                        let results = onEachSet {
                            var codes = [UInt8](repeating: 0x55, count: size + 3)
                            var errors = ck_errors()
                            stored.withValues { ck_quantize_bytes($0, type, size, scale, &codes, &errors) }
                            sums.append([errors.energy, errors.squares, errors.maximum])
                            return codes
                        }
                        #expect(results.agree && sums.agree)
                        let expected = stored.floats.map { Self.rounded($0 / scale) }
                        #expect(results[0] == expected.map { UInt8(truncatingIfNeeded: Int($0)) } + [0x55, 0x55, 0x55])
                        let errors = zip(stored.floats, expected).map { Double($0) - Double(scale * $1) }
                        let exact = [
                            stored.floats.reduce(0) { $0 + Double($1) * Double($1) }, errors.reduce(0) { $0 + $1 * $1 },
                        ]
                        #expect(abs(sums[0][0] - exact[0]) <= 1e-6 * exact[0])
                        #expect(abs(sums[0][1] - exact[1]) <= 1e-6 * exact[1])
                        #expect(sums[0][2] == errors.reduce(0) { max($0, abs($1)) })
                    }
                }
            }
        }

        @Test("nibbles of blocks are equal on every set; rows that take more care are left alone")
        func nibbles() {
            var generator = SeededGenerator(seed: 3)
            for type in Self.types {
                for (size, block) in [(16, 32), (48, 32), (64, 16), (512, 32), (1040, 64), (1536, 128), (304, 304)] {
                    for (reach, refined) in [(Int32(7), Int32(0)), (8, 0), (7, 1), (8, 1)] {
                        for halves in [Int32(0), 1] {
                            let floats = generator.floats(size).enumerated().map { $1 * Float(1 + $0 / 96 % 7) }
                            let stored = Stored(floats, type, shift: block % 3)
                            let blocks = (size + block - 1) / block
                            var sums: [[Double]] = []
                            let results = onEachSet {
                                var codes = [UInt8](repeating: 0x55, count: size / 2 + 2)
                                var scales = [UInt8](repeating: 0x55, count: blocks * (halves != 0 ? 2 : 4) + 2)
                                var errors = ck_errors()
                                let done = stored.withValues {
                                    ck_quantize_nibbles(
                                        $0, type, size, block, reach, refined, halves, &codes, &scales, &errors)
                                }
                                #expect(done == 1)
                                sums.append([errors.energy, errors.squares, errors.maximum])
                                return codes + scales
                            }
                            #expect(results.agree && sums.agree)
                            #expect(results[0][size / 2] == 0x55 && results[0].last == 0x55)
                        }
                    }
                }
                for odd: Float in [.nan, .infinity, 1e-13, 1e25] {
                    var floats = generator.floats(96)
                    for index in 32..<64 { floats[index] = floats[index] * 1e-20 }
                    floats[40] = odd
                    let stored = Stored(floats, type, shift: 0)
                    if stored.floats[40] == 0 { continue }
                    let done = onEachSet {
                        var (codes, scales) = ([UInt8](repeating: 0, count: 48), [UInt8](repeating: 0, count: 12))
                        var errors = ck_errors()
                        return stored.withValues {
                            ck_quantize_nibbles($0, type, 96, 32, 7, 0, 0, &codes, &scales, &errors)
                        }
                    }
                    #expect(done.allSatisfy { $0 == 0 }, "\(odd)")
                }
            }
        }
    }

    @Suite struct RefinedScales {
        @Test("the scale of least error is the same on every set, whatever the number of values")
        func sets() {
            var generator = SeededGenerator(seed: 5)
            for count in oddSizes.dropFirst() + [4095, 4096, 4097, 9000] {
                let values = generator.floats(count)
                let (low, high) = (min(values.min() ?? 0, 0), max(values.max() ?? 0, 0))
                for (reach, halves) in [(Int32(7), Int32(0)), (8, 0), (7, 1), (8, 1)] {
                    let bounds = (max(-low / Float(reach), high / 7), -max(high / Float(reach), -low / 7))
                    let unit = -low > high ? -low : -high
                    let scales = onEachSet {
                        ck_refined_scale(values, count, unit, reach, halves, bounds.0, bounds.1)
                    }
                    #expect(scales.agree && scales[0] != 0, "\(count) values")
                    #expect(
                        halves == 0 || scales[0] == bounds.0 || scales[0] == bounds.1
                            || scales[0].bitPattern & 0x1FFF == 0)
                }
            }
        }

        @Test("values that lie on codes keep the scale that gives them without error")
        func exact() {
            let values = (0..<64).map { Float($0 % 16 - 8) * 0.25 }
            for scale in onEachSet({ ck_refined_scale(values, 64, 2, 8, 1, 0.25, -0.2857) }) { #expect(scale == 0.25) }
        }
    }

    @Suite struct LookUp {
        @Test("patterns are counted and looked up, from any byte, at every width")
        func lookUp() {
            var generator = SeededGenerator(seed: 4)
            for size in oddSizes {
                let patterns = (0..<size).map { _ in UInt16.random(in: 0...UInt16.max, using: &generator) | 0x11 }
                for shift in [0, 1] {
                    let bytes = [UInt8](repeating: 0, count: shift) + patterns.withUnsafeBytes(Array.init)
                    var counts = [UInt32](repeating: 0, count: 1 << 16)
                    bytes.withUnsafeBytes { ck_count_halves($0.baseAddress! + shift, size, &counts) }
                    let found = patterns.map { counts[Int($0)] }
                    #expect(found == patterns.map { pattern in UInt32(patterns.count { $0 == pattern }) })
                    #expect(counts.reduce(0, +) == UInt32(size))
                    for bits in [1, 2, 3, 4, 6, 8] {
                        let table = (0..<1 << 16).map { UInt8($0 * 7 & (1 << bits - 1)) }
                        let length = (size * bits + 7) / 8
                        var codes = [UInt8](repeating: 0x55, count: length + 8)
                        bytes.withUnsafeBytes {
                            ck_look_up_halves($0.baseAddress! + shift, size, table, Int32(bits), &codes)
                        }
                        var expected = [UInt8](repeating: 0, count: length) + [UInt8](repeating: 0x55, count: 8)
                        for (index, pattern) in patterns.enumerated() {
                            for bit in 0..<bits where table[Int(pattern)] >> bit & 1 == 1 {
                                expected[(index * bits + bit) / 8] |= 1 << UInt8((index * bits + bit) % 8)
                            }
                        }
                        #expect(codes == expected, "\(size) codes of \(bits) bits")
                    }
                }
            }
        }
    }
}
