import AccelByteIO
import AccelTensors
import TestSupport
import Testing

@testable import AccelWeightCompression

@Suite("Small floating-point numbers with scales of one byte")
struct MicroscaledTests {
    @Test("the codes of numbers between two values are those of the nearest, with ties to the even code")
    func nearest() {
        let values: [Float] = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
        for (code, (low, high)) in zip(values, values.dropFirst()).enumerated() {
            let middle = (low + high) / 2
            let even = UInt8(code % 2 == 0 ? code : code + 1)
            #expect(SmallFloat.e2m1.code(middle, scale: 1) == even)
            #expect(SmallFloat.e2m1.code(middle.nextDown, scale: 1) == UInt8(code))
            #expect(SmallFloat.e2m1.code(-middle.nextUp, scale: 1) == UInt8(code + 1) | 8)
        }
        #expect(SmallFloat.e2m1.code(100, scale: 2) == 7)
    }

    @Test("the scales decode to what their types say")
    func scales() throws {
        let powers = try CompressedTensor(
            name: "w", elementType: .float32, shape: [255, 32], codec: Codecs.codec("mxfp4"),
            sections: [ByteView([UInt8](repeating: 0x12, count: 16 * 255)), ByteView((0..<255).map { UInt8($0) })])
        for (row, value) in powers.floats().enumerated().filter({ $0.offset % 32 == 0 }) {
            #expect(value == Float(sign: .plus, exponent: row / 32 - 127, significand: 1))
        }
        let factors = try CompressedTensor(
            name: "w", elementType: .float32, shape: [127, 32], codec: Codecs.codec("nvfp4"),
            sections: [
                ByteView([UInt8](repeating: 0x12, count: 16 * 127)), ByteView((0..<254).map { UInt8($0 / 2) }),
                ByteView([Float(3)]),
            ])
        for (index, value) in factors.floats().enumerated().filter({ $0.offset % 16 == 0 }) {
            #expect(value == Float8.e4m3.values[index / 32] * 3)
        }
    }

    @Test("corrupt scales are rejected", arguments: ["mxfp4", "mxfp8", "nvfp4"])
    func corrupt(name: String) throws {
        let source = StoredTensor(name: "w", floats: OddTensor.normal(64, seed: 3), shape: [2, 32])
        let weight = try CompressedTensor.compressing(source, with: Codecs.codec(name), threads: 1).tensor
        let bytes: [UInt8] = name == "nvfp4" ? [0x7F, 0x80, 0xFF] : [0xFF]
        for byte in bytes {
            var sections = weight.sections
            sections[1] = ByteView([byte] + sections[1].withBytes { [UInt8]($0) }.dropFirst())
            #expect(throws: FormatError.self) {
                try CompressedTensor(
                    name: "w", elementType: .float32, shape: source.shape, codec: weight.codec, sections: sections)
            }
        }
    }

    @Test("fit=mse has no larger error than the other searches", arguments: ["mxfp4", "mxfp8", "nvfp4"])
    func searches(name: String) throws {
        let source = StoredTensor(name: "w", floats: OddTensor.normal(64 * 96, seed: 5), shape: [64, 96])
        func error(_ fit: String) throws -> Double {
            try CompressedTensor.compressing(source, with: Codecs.codec("\(name):fit=\(fit)"), threads: 1)
                .distortion.squaredError
        }
        let best = try error("mse")
        for fit in name == "nvfp4" ? ["absmax", "mlx"] : ["absmax", "floor", "mlx"] {
            #expect(try best <= error(fit), "\(fit)")
        }
    }
}
