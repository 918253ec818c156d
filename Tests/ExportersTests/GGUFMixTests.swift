import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

/// The mixes of types, against what llama.cpp's quantizer chose for small models (`Tests/Fixtures/gguf/mixes.json`).
@Suite("GGUF mixes")
struct GGUFMixTests {
    private struct Case {
        let architecture: GGUFArchitecture
        /// In the order of layers within each module.
        let matrices: [GGUFMix.Matrix]
        /// The types of the matrices, by the name of the mix.
        let types: [String: [String]]

        init(_ field: JSONField) throws {
            let name = try field["architecture"].string()
            architecture = try #require(GGUFArchitecture.all.first { $0.name == name })
            let layers = try field["layers"].int()
            let shapes = try field["shapes"].members().map { module, shape in
                (module, Shape(try shape.array().map { try $0.int() }))
            }
            let outside = Set(architecture.modules.map(\.gguf) + [GGUFArchitecture.head.gguf])
            matrices = shapes.flatMap { module, shape in
                (outside.contains(module) ? [nil] : (0..<layers).map { $0 }).map { layer in
                    GGUFMix.Matrix(module: GGUFArchitecture.Module(layer: layer, gguf: module), shape: shape)
                }
            }
            types = Dictionary(
                uniqueKeysWithValues: try field["mixes"].members().map { mix, modules in
                    (
                        mix,
                        try shapes.flatMap { module, _ in
                            try modules[module].string().split(separator: " ").flatMap { run in
                                let parts = run.split(separator: "*").map(String.init)
                                return [String](repeating: parts[0], count: try #require(Int(parts[1])))
                            }
                        }
                    )
                })
        }
    }

    private static func cases() throws -> [(name: String, field: JSONField)] {
        let path = Fixtures.path("gguf/mixes.json")
        return try JSONField(try JSON.read(path), file: path).members().map { ($0.key, $0.field) }
    }

    @Test("Every matrix has the type that llama.cpp gives it, in every mix, with and without an importance matrix")
    func types() throws {
        let cases = try Self.cases()
        #expect(cases.count >= 15)
        for (name, field) in cases {
            let wanted = try Case(field)
            let model = GGUFMix(wanted.matrices, of: wanted.architecture)
            #expect(Set(wanted.types.keys.map { $0.split(separator: "+")[0] }) == Set(GGMLMix.all.map { $0.name[...] }))
            for (request, types) in wanted.types {
                let mix = try #require(GGMLMix.all.first { request.split(separator: "+")[0] == $0.name })
                let found = wanted.matrices.map { matrix in
                    let scheme = model.scheme(of: matrix, in: mix, isWeighted: request.contains("+"))
                    return scheme.map { $0 == "float16" ? "F16" : $0.uppercased() } ?? "F32"
                }
                #expect(found == types, "\(name), \(request)")
            }
        }
    }

    @Test("The number of a file's type is that of the mix that chooses its types")
    func fileTypes() throws {
        for (name, field) in try Self.cases() {
            let given = try Case(field)
            for (request, types) in given.types {
                let tensors = try zip(given.matrices, types).map { matrix, type in
                    let type = try #require(GGMLType.all.first { $0.name == type })
                    return (
                        matrix: matrix,
                        tensor: GGUFTensor(name: "x", type: type, shape: matrix.shape, bytes: ByteView([UInt8]()))
                    )
                }
                let found = GGUFMix.fileType(of: tensors, given.architecture)
                let same = Set(given.types.filter { $0.value == types }.keys.map { $0.split(separator: "+")[0] })
                let numbers = GGMLMix.all.filter { same.contains($0.name[...]) }.map(\.fileType)
                let isPlain = !types.contains { $0 != "F16" && $0 != "F32" }
                #expect(isPlain ? found == 1 : numbers.contains(found), "\(name), \(request)")
            }
        }
    }

    @Test("A mix's options are those of its base, and other types take them if they have them")
    func requests() throws {
        let recipe = try Recipe(scheme: "q4_k_m")
        #expect(recipe.defaultCodec.specification == "q4_k" && recipe.mix?.name == "q4_k_m")
        #expect(try Recipe(JSONField(recipe.json, file: "x")).mix?.name == "q4_k_m")
        #expect(try Recipe(scheme: "q4_k").mix == nil)
        #expect(throws: RequestError.self) { try Recipe(scheme: "q4_k_m:x=1") }
        let error = #expect(throws: RequestError.self) { try Recipe(scheme: "q4_k_mm") }
        #expect(error?.description.contains("q4_k_m") == true)
    }

    @Test("Codes and scales of mxfp4 are those of ggml's blocks, in other places")
    func microscaled() throws {
        let type = try #require(GGMLType.all.first { $0.name == "MXFP4" })
        // Weight i of the first block has code i / 2, of the second one code 15.
        let filled = [UInt8](repeating: 0xFF, count: 16)
        let codes = (UInt8(0)..<16).map { $0 | $0 << 4 } + filled
        let weight = try CompressedTensor(
            name: "x", elementType: .float32, shape: [1, 64], codec: try Codecs.codec("mxfp4"),
            sections: [ByteView(codes), ByteView([130, 1] as [UInt8])])
        let blocks = type.blocks(of: weight)
        let first = (UInt8(0)..<16).map { (index: UInt8) -> UInt8 in
            let low = index / 2
            return low | (low + 8) << 4
        }
        #expect(blocks == ByteView([130] + first + [1] + filled))
        #expect(type.sections(of: blocks) == weight.sections)
    }

    @Test("The pooling of a sentence model is that of its modules", arguments: [("mean", 1), ("cls", 2)])
    func pooling(name: String, number: UInt32) throws {
        let source = try ModelFormats.open(Fixtures.path("bert_sentence_\(name)"))
        let settings = try GGUFSettings(of: try source.assets, for: try GGUFArchitecture.family("bert"))
        #expect(settings.metadata.first { $0.key == "bert.pooling_type" }?.value == .uint32(number))
    }
}
