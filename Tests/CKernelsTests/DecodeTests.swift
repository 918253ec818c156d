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

        @Test("packed codes of 1 to 8 bits become one byte each, and nothing behind them is read", arguments: 1...8)
        func unpack(bits: Int) {
            var generator = SeededGenerator(seed: UInt64(20 + bits))
            for size in oddSizes + Array(0..<80) {
                // An allocation of exactly the packed bytes, for the address sanitizer.
                let packed = generator.bytes((size * bits + 7) / 8)
                let expected = (0..<size).map { index in
                    (0..<bits).reduce(UInt8(0)) { code, bit in
                        let position = index * bits + bit
                        return code | (packed[position / 8] >> (position % 8) & 1) << bit
                    }
                }
                for result in onEachSet({
                    var target = [UInt8](repeating: 77, count: size + 2)
                    ck_unpack_codes(packed, Int32(bits), size, &target)
                    return target
                }) {
                    #expect(result == expected + [77, 77])
                }
            }
        }

        @Test("codes of a row meet the scale of their block, each step rounded", arguments: [1, 16, 32, 64, 5000])
        func blocks(block: Int) {
            var generator = SeededGenerator(seed: 30)
            let codes = generator.bytes(1000).map { $0 & 15 }
            let (scales, zeros) = (generator.floats(1000), generator.bytes(1000).map { Float($0 % 16) - 8 })
            func expected(_ size: Int, _ value: (Float, Float, Int) -> Float) -> [Float] {
                (0..<size).map { value(scales[$0 / block], zeros[$0 / block], Int(codes[$0])) } + [-7]
            }
            for size in oddSizes where size <= 1000 {
                let signed = expected(size) { $0 * (Float($2 < 8 ? $2 : $2 - 16) - $1) }
                let plain = expected(size) { scale, _, code in scale * Float(code) }
                let shifted = expected(size) { Float(Double($0) * Double($2) + Double($1)) }
                for (wanted, decode) in [
                    (signed, { ck_decode_scaled(codes, 1, size, block, scales, zeros, $0) }),
                    (plain, { ck_decode_scaled(codes, 0, size, block, scales, nil, $0) }),
                    (shifted, { ck_decode_shifted(codes, size, block, scales, zeros, $0) }),
                    (
                        plain,
                        { target in
                            for index in 0..<size { target[index] = Float(codes[index]) }
                            ck_multiply_blocks(target, size, block, scales)
                        }
                    ),
                ] as [([Float], (UnsafeMutablePointer<Float>) -> Void)] {
                    for result in onEachSet({
                        var target = [Float](repeating: -7, count: size + 1)
                        target.withUnsafeMutableBufferPointer { decode($0.baseAddress!) }
                        return target
                    }) {
                        #expect(result == wanted)
                    }
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
