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
                let short = expected(size) { Float(Double(Float(Float16($0))) * Double($2) + Double($1)) }
                let shortScales = scales.map { Float(Float16($0)) }
                for (wanted, decode) in [
                    (signed, { ck_decode_scaled(codes, 1, size, block, scales, zeros, $0) }),
                    (plain, { ck_decode_scaled(codes, 0, size, block, scales, nil, $0) }),
                    (shifted, { ck_decode_shifted(codes, size, block, scales, zeros, 0, $0) }),
                    (short, { ck_decode_shifted(codes, size, block, shortScales, zeros, 1, $0) }),
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

        @Test("codes of one byte look up their entry, and nothing behind the table is read", arguments: 1...8)
        func lookUp(bits: Int) {
            var generator = SeededGenerator(seed: UInt64(50 + bits))
            let table = generator.floats(1 << bits)
            for size in oddSizes {
                let codes = generator.bytes(size).map { $0 >> (8 - bits) }
                for result in onEachSet({
                    var target = [Float](repeating: -7, count: size + 1)
                    ck_look_up(codes, table, Int32(bits), size, &target)
                    return target
                }) {
                    #expect(result == codes.map { table[Int($0)] } + [-7])
                }
            }
        }

        @Test(
            "codes of one byte look up the values of their vector, the last of which may be cut",
            arguments: [1, 2, 3, 4])
        func lookUpVectors(size: Int) {
            var generator = SeededGenerator(seed: UInt64(60 + size))
            let table = generator.floats(256 * size)
            for count in oddSizes {
                let codes = generator.bytes((count + size - 1) / size)
                var target = [Float](repeating: -7, count: count + 1)
                ck_look_up_vectors(codes, table, size, count, &target)
                #expect(target == (0..<count).map { table[Int(codes[$0 / size]) * size + $0 % size] } + [-7])
            }
        }

        @Test("every number of eight bits, times a scale", arguments: [false, true])
        func float8(isE5M2: Bool) {
            let (exponentBits, bias) = isE5M2 ? (5, 15) : (4, 7)
            let mantissaBits = 7 - exponentBits
            let exact = (0..<256).map { code -> Float in
                let exponent = code >> mantissaBits & (1 << exponentBits - 1), mantissa = code & (1 << mantissaBits - 1)
                let sign: Float = code < 128 ? 1 : -1
                if isE5M2, exponent == 31 { return mantissa == 0 ? sign * .infinity : .nan }
                if !isE5M2, code & 127 == 127 { return .nan }
                let fraction = Float(mantissa) / Float(1 << mantissaBits) + (exponent == 0 ? 0 : 1)
                return Float(sign: .plus, exponent: max(exponent, 1) - bias, significand: sign * fraction)
            }
            for scale: Float in [1, 0.0123, -3e30, 1e-38] {
                for size in oddSizes {
                    let codes = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7 + size) }
                    for result in onEachSet({
                        var target = [Float](repeating: -7, count: size + 1)
                        ck_decode_float8(codes, isE5M2 ? 1 : 0, scale, size, &target)
                        return target
                    }) {
                        for (index, code) in codes.enumerated() {
                            let expected = exact[Int(code)] * scale
                            #expect(expected.isNaN ? result[index].isNaN : result[index] == expected, "\(code)")
                        }
                        #expect(result[size] == -7)
                    }
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
