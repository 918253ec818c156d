import AccelByteIO
import CAccelKernels
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// The types of ggml. scripts/peers/gguf.py compares many more weights with ggml itself.
@Suite("types of ggml", .serialized)
struct GGMLCodecTests {
    private static let names = GGMLCodecs.all.map { $0.name }

    private func blocks() throws -> SafetensorsFile { try SafetensorsFile(Fixtures.path("ggml_blocks.safetensors")) }

    @Test("blocks have the bytes of ggml on every instruction set", arguments: names)
    func bytes(name: String) throws {
        let file = try blocks()
        let (values, expected) = (try #require(file["values"]), try #require(file[name]))
        let codec = try Codecs.codec(name)
        let best = ck_current_isa()
        defer { ck_limit_isa(best) }
        for set in [CK_SCALAR, CK_AVX2, CK_AVX512] {
            ck_limit_isa(set)
            let weight = try CompressedTensor.compressing(values, with: codec, threads: 2).tensor
            let rowBytes = expected.shape.columns
            for row in 0..<values.shape.rows {
                let range = row * rowBytes..<(row + 1) * rowBytes
                #expect(weight.sections[0][range] == expected.bytes[range], "\(name), row \(row), set \(set)")
            }
            #expect(codec.violation(0..<values.shape.rows, of: weight, source: values) == nil)
        }
    }

    @Test(
        "rows that end within a block have the codes of rows that zeros fill", arguments: GGMLCodecs.all.map { $0.name }
    )
    func padding(name: String) throws {
        let codec = try Codecs.codec(name)
        let block = try #require(codec as? any GGMLCodec)
        let elements = type(of: block).format.elements
        let columns = elements + 5
        let floats = OddTensor.normal(2 * columns, seed: 41)
        let zeros = [Float](repeating: 0, count: elements - 5)
        let filled: [Float] = Array(floats[..<columns]) + zeros + Array(floats[columns...]) + zeros
        let ragged = StoredTensor(name: "ragged", floats: floats, shape: [2, columns])
        let whole = StoredTensor(name: "whole", floats: filled, shape: [2, 2 * elements])
        let left = try CompressedTensor.compressing(ragged, with: codec, threads: 1).tensor
        let right = try CompressedTensor.compressing(whole, with: codec, threads: 1).tensor
        #expect(left.sections[0] == right.sections[0])
        #expect(Array(left.floats()[..<columns]) == Array(right.floats()[..<columns]))
    }

    @Test("every changed bit is found, in codes, scales and padding", arguments: GGMLCodecs.all.map { $0.name })
    func everyBit(name: String) throws {
        let codec = try Codecs.codec(name)
        let source = OddTensor("ragged", [1, 270], OddTensor.normal(270, seed: 42)).tensor
        let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
        let block = try #require(codec as? any GGMLCodec)
        let format = type(of: block).format
        for byte in 0..<weight.sections[0].count {
            for bit in 0..<8 {
                let changed = try weight.changing(section: 0, byte: byte, by: 1 << UInt8(bit))
                let found = try #require(codec.violation(0..<1, of: changed, source: source))
                #expect(found.index / format.elements == byte / format.bytes)
            }
        }
    }
}
