import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite struct Half {
        @Test("all 65,536 float16 patterns widen as the standard library does, on every set")
        func widenFloat16() {
            let patterns = Array(UInt16.min...UInt16.max)
            let results = onEachSet {
                var target = [Float](repeating: 0, count: patterns.count)
                ck_f16_to_f32(patterns, &target, patterns.count)
                return target.map(\.bitPattern)
            }
            #expect(results.agree)
            #if !((os(macOS) || targetEnvironment(macCatalyst)) && arch(x86_64))
                for (pattern, bits) in zip(patterns, results[0]) {
                    let expected = Float(Float16(bitPattern: pattern))
                    if expected.isNaN {
                        let found = Float(bitPattern: bits)
                        #expect(found.isNaN && !found.isSignalingNaN && bits >> 31 == UInt32(pattern >> 15))
                    } else if bits != expected.bitPattern {
                        Issue.record("float16 \(pattern): expected \(expected.bitPattern), found \(bits)")
                    }
                }
            #endif
        }

        @Test("all 65,536 bfloat16 patterns widen by a shift, NaN becoming quiet")
        func widenBFloat16() {
            let patterns = Array(UInt16.min...UInt16.max)
            let results = onEachSet {
                var target = [Float](repeating: 0, count: patterns.count)
                ck_bf16_to_f32(patterns, &target, patterns.count)
                return target.map(\.bitPattern)
            }
            #expect(results.agree)
            for (pattern, bits) in zip(patterns, results[0]) {
                let quiet: UInt32 = Float(bitPattern: UInt32(pattern) << 16).isNaN ? 0x0040_0000 : 0
                if bits != UInt32(pattern) << 16 | quiet { Issue.record("bfloat16 \(pattern): found \(bits)") }
            }
        }

        /// Every float16 and bfloat16 value, the middles between them, the neighbours of both, and random patterns.
        static let hardFloats: [Float] = {
            var generator = SeededGenerator(seed: 1)
            var patterns: [UInt32] = []
            for half in UInt32(0)...0xFFFF {
                patterns += [half << 16, half << 16 | 0x7FFF, half << 16 | 0x8000, half << 16 | 0x8001]
            }
            for high in stride(from: UInt32(0x3300_0000), to: 0x4780_0000, by: 0x1000) {
                patterns += [high &- 1, high, high | 1, 0x8000_0000 | high &- 1, 0x8000_0000 | high | 1]
            }
            for _ in 0..<100_000 { patterns.append(UInt32.random(in: 0...UInt32.max, using: &generator)) }
            return patterns.map(Float.init(bitPattern:))
        }()

        @Test("float32 narrows to float16: nearest, ties to even, overflow to infinity, NaN quiet")
        func narrowFloat16() {
            let source = Self.hardFloats
            let results = onEachSet {
                var target = [UInt16](repeating: 0, count: source.count)
                ck_f32_to_f16(source, &target, source.count)
                return target
            }
            #expect(results.agree)
            #if !((os(macOS) || targetEnvironment(macCatalyst)) && arch(x86_64))
                for (value, bits) in zip(source, results[0]) {
                    let expected = Float16(value)
                    let right =
                        expected.isNaN
                        ? bits & 0x7E00 == 0x7E00 && bits >> 15 == value.bitPattern >> 31
                        : bits == expected.bitPattern
                    if !right { Issue.record("\(value): expected \(expected.bitPattern), found \(bits)") }
                }
            #endif
        }

        @Test("float32 narrows to bfloat16: nearest, ties to even, NaN quiet")
        func narrowBFloat16() {
            let source = Self.hardFloats
            let results = onEachSet {
                var target = [UInt16](repeating: 0, count: source.count)
                ck_f32_to_bf16(source, &target, source.count)
                return target
            }
            #expect(results.agree)
            for (value, bits) in zip(source, results[0]) {
                let found = Float(bitPattern: UInt32(bits) << 16)
                if value.isNaN {
                    if !found.isNaN || bits & 0x40 == 0 { Issue.record("NaN \(value.bitPattern): found \(bits)") }
                    continue
                }
                // The two candidates enclose the value; the nearer one wins, the even one of a tie.
                let low = value.bitPattern >> 16, distance = value.bitPattern & 0xFFFF
                let up = distance > 0x8000 || (distance == 0x8000 && low & 1 == 1)
                if UInt32(bits) != low + (up ? 1 : 0) { Issue.record("\(value): found \(bits)") }
            }
        }

        @Test("odd lengths and starts convert the same values and touch nothing else")
        func oddLengths() {
            var generator = SeededGenerator(seed: 2)
            let source = generator.floats(1100, in: -70000...70000)
            for size in oddSizes {
                for start in 0..<3 {
                    let results = onEachSet {
                        var halves = [UInt16](repeating: 0x5555, count: 1100)
                        var floats = [Float](repeating: -7, count: 1100)
                        source.withUnsafeBufferPointer { source in
                            halves.withUnsafeMutableBufferPointer { halves in
                                ck_f32_to_f16(source.baseAddress! + start, halves.baseAddress! + start, size)
                                floats.withUnsafeMutableBufferPointer { floats in
                                    ck_f16_to_f32(halves.baseAddress! + start, floats.baseAddress! + start, size)
                                }
                            }
                        }
                        #expect(halves[..<start].allSatisfy { $0 == 0x5555 })
                        #expect(halves[(start + size)...].allSatisfy { $0 == 0x5555 })
                        #expect(floats[(start + size)...].allSatisfy { $0 == -7 })
                        return floats
                    }
                    #expect(results.agree)
                }
            }
        }
    }
}
