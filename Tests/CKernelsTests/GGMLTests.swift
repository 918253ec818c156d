import CAccelKernels
import TestSupport
import Testing

extension Kernels {
    @Suite("blocks of ggml") struct GGML {
        /// A type's weights and bytes of a block, its weights of a part, and whether parts have minima.
        struct Form: Sendable, CustomStringConvertible {
            let type: ck_ggml_type
            let (weights, bytes, part): (Int, Int, Int)
            let hasMinima: Bool
            var description: String { "type \(type.rawValue)" }
        }

        static let forms: [Form] = [
            Form(type: CK_GGML_Q8_0, weights: 32, bytes: 34, part: 32, hasMinima: false),
            Form(type: CK_GGML_Q4_0, weights: 32, bytes: 18, part: 32, hasMinima: false),
            Form(type: CK_GGML_Q4_1, weights: 32, bytes: 20, part: 32, hasMinima: true),
            Form(type: CK_GGML_Q5_0, weights: 32, bytes: 22, part: 32, hasMinima: false),
            Form(type: CK_GGML_Q5_1, weights: 32, bytes: 24, part: 32, hasMinima: true),
            Form(type: CK_GGML_IQ4_NL, weights: 32, bytes: 18, part: 32, hasMinima: false),
            Form(type: CK_GGML_Q2_K, weights: 256, bytes: 84, part: 16, hasMinima: true),
            Form(type: CK_GGML_Q3_K, weights: 256, bytes: 110, part: 16, hasMinima: false),
            Form(type: CK_GGML_Q4_K, weights: 256, bytes: 144, part: 32, hasMinima: true),
            Form(type: CK_GGML_Q5_K, weights: 256, bytes: 176, part: 32, hasMinima: true),
            Form(type: CK_GGML_Q6_K, weights: 256, bytes: 210, part: 16, hasMinima: false),
            Form(type: CK_GGML_IQ4_XS, weights: 256, bytes: 136, part: 32, hasMinima: false),
            Form(type: CK_GGML_IQ3_S, weights: 256, bytes: 110, part: 32, hasMinima: false),
            Form(type: CK_GGML_IQ3_XXS, weights: 256, bytes: 98, part: 32, hasMinima: false),
            Form(type: CK_GGML_IQ2_S, weights: 256, bytes: 82, part: 16, hasMinima: false),
            Form(type: CK_GGML_IQ2_XS, weights: 256, bytes: 74, part: 16, hasMinima: false),
            Form(type: CK_GGML_IQ2_XXS, weights: 256, bytes: 66, part: 32, hasMinima: false),
            Form(type: CK_GGML_TQ1_0, weights: 256, bytes: 54, part: 32, hasMinima: false),
            Form(type: CK_GGML_TQ2_0, weights: 256, bytes: 66, part: 32, hasMinima: false),
        ]

        /// The bytes of some blocks of weights of any sign, some of them of zeros.
        private func encoded(_ form: Form, blocks: Int, _ generator: inout SeededGenerator) -> [UInt8] {
            var values = generator.floats(blocks * form.weights)
            for index in values.indices {
                let block = index / form.weights
                values[index] = block % 7 == 6 ? 0 : values[index] * Float(1 + block % 5)
            }
            var codes = [UInt8](repeating: 0, count: blocks * form.bytes)
            ck_ggml_encode(form.type, values, nil, blocks, &codes)
            return codes
        }

        @Test("have the same floats on every set, and nothing behind them is read or written", arguments: forms)
        func floats(form: Form) {
            var generator = SeededGenerator(seed: 71)
            for blocks in [0, 1, 2, 7, 8, 9, 16, 21] {
                let codes = encoded(form, blocks: blocks, &generator)
                let results = Kernels.onEachSet {
                    var target = [Float](repeating: -7, count: blocks * form.weights + 1)
                    ck_ggml_decode(form.type, codes, blocks, &target)
                    return target.map(\.bitPattern)
                }
                #expect(results.agree, "\(blocks) blocks")
                #expect(Float(bitPattern: results[0][blocks * form.weights]) == -7)
            }
        }

        @Test("have the products of their floats with a vector", arguments: forms)
        func products(form: Form) {
            var generator = SeededGenerator(seed: 72)
            for blocks in [1, 2, 3, 7, 8, 9, 13, 16] {
                let columns = blocks * form.weights
                let x = generator.floats(columns)
                var sums = [Float](repeating: .nan, count: columns / form.part)
                ck_sum_blocks(x, columns, form.part, &sums)
                // Rows lie apart, at any address.
                let stride = blocks * form.bytes + blocks % 3
                var codes = [UInt8](repeating: 255, count: 7 * stride)
                var floats = [Float]()
                for row in 0..<7 {
                    let own = encoded(form, blocks: blocks, &generator)
                    codes.replaceSubrange(row * stride..<row * stride + own.count, with: own)
                    var decoded = [Float](repeating: .nan, count: columns)
                    ck_ggml_decode(form.type, own, blocks, &decoded)
                    floats += decoded
                }
                Dot().check(
                    7, exact: { row in Dot().exact(x) { Double(floats[row * columns + $0]) } }, "\(blocks) blocks"
                ) { rows, target in
                    codes.withUnsafeBufferPointer {
                        ck_ggml_dot(
                            form.type, x, form.hasMinima ? sums : nil,
                            $0.baseAddress.map { $0 + rows.lowerBound * stride }, stride, rows.count, blocks, target)
                    }
                }
            }
        }

        @Test("scales of one byte are the numbers of their codes, times that of the tensor", arguments: [false, true])
        func microscales(isE4M3: Bool) {
            // All codes of scales: finite, and positive.
            let codes = (0...(isE4M3 ? 126 : 254)).map { UInt8($0) }
            let expected = codes.map { code -> Float in
                if !isE4M3 { return Float(sign: .plus, exponent: Int(code) - 127, significand: 1) }
                let (exponent, mantissa) = (Int(code >> 3), Float(code & 7))
                return exponent == 0
                    ? mantissa * 0x1p-9 : Float(sign: .plus, exponent: exponent - 7, significand: 1 + mantissa / 8)
            }
            for (factor, divisor) in [(1, 1), (0.37, 1), (1, 3.3)] as [(Float, Float)] {
                for count in [0, 1, 7, 64, codes.count] {
                    for result in Kernels.onEachSet({
                        var target = [Float](repeating: -7, count: count + 1)
                        ck_widen_microscales(codes, isE4M3 ? 1 : 0, count, factor, divisor, &target)
                        return target
                    }) {
                        #expect(result == expected[..<count].map { $0 * factor / divisor } + [-7])
                    }
                }
            }
        }
    }
}
