import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite struct Decode {
        @Test("4-bit palette codes are read low nibble first, from any start")
        func palette4() {
            var generator = SeededGenerator(seed: 4)
            let codes = generator.bytes(520), table = generator.floats(16)
            for size in oddSizes {
                for first in 0..<5 {
                    let expected = (first..<first + size).map { table[Int(codes[$0 / 2] >> ($0 % 2 * 4) & 15)] }
                    let results = onEachSet {
                        var target = [Float](repeating: -7, count: size + 3)
                        ck_decode_palette4(codes, first, table, &target, size)
                        return target
                    }
                    for result in results { #expect(result == expected + [-7, -7, -7]) }
                }
            }
        }

        @Test("8-bit palette codes look up their entry")
        func palette8() {
            var generator = SeededGenerator(seed: 5)
            let codes = generator.bytes(1000), table = generator.floats(256)
            for size in oddSizes {
                for result in onEachSet({
                    var target = [Float](repeating: -7, count: size + 1)
                    ck_decode_palette8(codes, table, &target, size)
                    return target
                }) {
                    #expect(result == codes[..<size].map { table[Int($0)] } + [-7])
                }
            }
        }

        @Test("int8 codes are scaled after the zero point is taken off, each step rounded")
        func int8() {
            var generator = SeededGenerator(seed: 6)
            let codes = generator.bytes(1000).map { Int8(bitPattern: $0) }
            for (scale, zero) in [(Float(0.0123), Float(0)), (3.7e-5, -17), (0x1p-140, 128), (2, 0.1)] {
                for size in oddSizes {
                    let expected = codes[..<size].map { scale * (Float($0) - zero) }
                    for result in onEachSet({
                        var target = [Float](repeating: -7, count: size + 1)
                        ck_decode_int8(codes, scale, zero, &target, size)
                        return target
                    }) {
                        #expect(result == expected + [-7])
                    }
                }
            }
        }
    }
}
