import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("8-bit floating-point numbers")
struct Float8Tests {
    @Test("numbers get the codes that torch gives them", arguments: ["e4m3", "e5m2"])
    func codes(name: String) throws {
        let file = try SafetensorsFile(Fixtures.path("float8.safetensors"))
        let values = try #require(file["\(name).values"]).floats()
        let codes = try #require(file["\(name).codes"]).integers()
        let type = name == "e4m3" ? Float8.e4m3 : .e5m2
        #expect(values.count > 2000)
        for (value, code) in zip(values, codes) {
            let own = type.code(value)
            #expect(Int64(own) == code, "\(value)")
        }
        #expect(type.code(.infinity) == type.code(type.largest) && type.code(-1e30) == type.code(-type.largest))
        for code in 0..<256 where type.values[code].isFinite {
            #expect(type.code(type.values[code]) == UInt8(code))
        }
    }

    @Test("codes of infinities and of NaN are rejected, and all others are read", arguments: ["e4m3", "e5m2"])
    func corruption(name: String) throws {
        let codec = try Codecs.codec("float8:type=\(name)")
        let type = name == "e4m3" ? Float8.e4m3 : .e5m2
        func weight(_ code: UInt8) throws -> CompressedTensor {
            let sections = [ByteView([0, code, 0] as [UInt8]), ByteView([1] as [Float])]
            return try CompressedTensor(
                name: "w", elementType: .float32, shape: [1, 3], codec: codec, sections: sections)
        }
        var rejected = 0
        for code in 0...255 as ClosedRange<UInt8> {
            let value = type.values[Int(code)]
            if value.isFinite {
                #expect(try weight(code).floats() == [0, value, 0])
                continue
            }
            rejected += 1
            let error = try #require(throws: FormatError.self) { try weight(code) }
            #expect(error.reason.contains("a code that is no finite number"), "\(code)")
        }
        #expect(rejected == (name == "e4m3" ? 2 : 8))
    }

    @Test("what shares a scale: a row, the tensor, or 128 x 128 weights, smaller ones at the edges")
    func tiles() throws {
        let shape: Shape = [130, 260]
        // The largest magnitude of each tile of 128 x 128 is known, and stored exactly.
        var floats = [Float](repeating: 0.001, count: shape.count)
        for (row, column, value) in [
            (5, 5, 1), (5, 128, 2), (127, 259, 4), (128, 0, 8), (129, 255, 16), (129, 256, 32),
        ] as [(Int, Int, Float)] {
            floats[row * 260 + column] = -value
        }
        let source = StoredTensor(name: "w", floats: floats, shape: shape)
        for (scale, count) in [("channel", 130), ("tensor", 1), ("block", 6)] {
            let codec = try Codecs.codec("float8:scale=\(scale)")
            let weight = try CompressedTensor.compressing(source, with: codec, threads: 2).tensor
            #expect(weight.sections[1].count == 4 * count)
            let decoded = weight.floats()
            for index in floats.indices where scale == "block" && floats[index] < 0 {
                #expect(decoded[index] == floats[index])
            }
        }
        let weight = try CompressedTensor.compressing(source, with: Codecs.codec("float8:scale=block"), threads: 1)
            .tensor
        let scales = weight.sections[1].withBytes { bytes in
            (0..<6).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
        #expect(scales == [1, 2, 4, 8, 16, 32].map { $0 / 448 })
    }
}
