import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// GGUF models that accelc writes and reads. scripts/peers/gguf.py compares them with llama.cpp itself.
@Suite("GGUF models")
struct GGUFTests {
    /// A model of a fixture, with the schemes of a recipe.
    private struct Model {
        let source: any ModelSource
        let model: SourceModel
        let functions: [FrozenProgram]
        let recipe: Recipe
        var assets: [Asset]

        init(_ fixture: String, _ scheme: String, changing changes: [String: JSON] = [:]) throws {
            source = try ModelFormats.open(Fixtures.path(fixture))
            model = try source.model()
            functions = try model.programs.freezingToUsualShapes()
            recipe = Recipe(default: try Codecs.codec(scheme))
            assets = try source.assets.map { asset in
                guard asset.name == "config.json",
                    case .object(let members) = try JSON.parse(asset.content, file: asset.name)
                else { return asset }
                let changed = members.filter { changes[$0.key] == nil } + changes.map { JSON.Member($0.key, $0.value) }
                return Asset(name: asset.name, content: ByteView(Array(JSON.object(changed).text().utf8)))
            }
        }

        var planned: PlannedExport {
            PlannedExport(
                functions, recipe.plan(for: functions), family: model.family, origins: model.origins, assets: assets)
        }

        func exported() throws -> ExportedModel {
            ExportedModel(
                program: try recipe.compressing(functions, threads: 1), family: model.family,
                provenance: [("accelc.version", "x")], origins: model.origins, assets: assets)
        }
    }

    private func file(_ path: String) throws -> [String: StoredTensor] {
        Dictionary(uniqueKeysWithValues: try SafetensorsFile(path).tensors.map { ($0.name, $0) })
    }

    @Test("Each hostile file has its verdict", arguments: Attack.gguf)
    func hostile(_ attack: Attack) {
        #expect(attack.flaw { _ = try GGUFFile($0, file: $1) } == nil)
    }

    @Test("Limits of counts are kept")
    func limits() throws {
        let values = GGUFValue.strings((0..<5).map { "\($0)" })
        let header = GGUFWriter.header([("a", values), ("b", values)], [])
        var limits = GGUFFile.Limits()
        limits.elements = 9
        #expect(throws: FormatError.self) { try GGUFFile(ByteView(header), file: "x", limits: limits) }
        limits.elements = 10
        #expect(try GGUFFile(ByteView(header), file: "x", limits: limits)["b"] == values)
        limits.pairs = 1
        #expect(throws: FormatError.self) { try GGUFFile(ByteView(header), file: "x", limits: limits) }
    }

    @Test("Values of every type are read back")
    func values() throws {
        let values: [GGUFValue] = [
            .uint8(200), .int8(-3), .uint16(60000), .int16(-300), .uint32(4_000_000_000), .int32(-70000), .float32(0.1),
            .bool(true), .string("é"), .uint64(.max), .int64(.min), .float64(1e-300), .array(.bool, [.bool(false)]),
            .floats([1, -2.5]), .integers([3, -4]), .strings(["", "x"]), .array(.uint8, []),
        ]
        let pairs = values.enumerated().map { (key: "k\($0)", value: $1) }
        let file = try GGUFFile(ByteView(GGUFWriter.header(pairs, [])), file: "x")
        for (key, value) in pairs { #expect(file[key] == value, "\(key)") }
    }

    @Test(
        "A file that gguf-py wrote decodes to weights that give the logits of transformers",
        arguments: ["llama_mixed", "llama_wide"])
    func reading(model: String) throws {
        let source = try ModelFormats.open(Fixtures.path("gguf/\(model).gguf"))
        let golden = try file(Fixtures.path("gguf/\(model).golden.safetensors"))
        let tokens = HostTensor(try #require(golden["in.input_ids"]))
        let count = tokens.shape.dimensions[1]
        let program = try #require(try source.model().programs.first)
        let function = try program.freezing(ShapeBindings(["batch": 1, "tokens": count, "cache": count]))
        var states: [String: HostTensor] = [:]
        let results = try function.evaluate(
            ["input_ids": tokens, "position": HostTensor([0] as [Int64], [1])], states: &states)
        let logits = try #require(results.first).tensor.floats
        let expected = try #require(golden["out.logits"]).floats()
        #expect(logits.count == expected.count)
        let largest = expected.map(abs).max() ?? 0
        for (found, wanted) in zip(logits, expected) { #expect(abs(found - wanted) < 2e-5 * largest) }
    }

    @Test("Rows of queries and keys come back from their order in files")
    func rows() throws {
        let bytes = ByteView((0..<48).map { UInt8($0) })
        let files = try #require(GGUFRows(heads: 2).interleaved(bytes, rows: 12))
        // Of a head of 6 rows, 0 1 2 | 3 4 5 become 0 3 1 4 2 5.
        #expect(files[4..<8] == bytes[12..<16] && files[8..<12] == bytes[4..<8])
        #expect(GGUFRows(heads: 2).inHalves(files, rows: 12) == bytes)
        #expect(GGUFRows(heads: 5).inHalves(files, rows: 12) == nil)
    }

    /// A fixture, the changes of its configuration that llama.cpp needs, and the scheme of its export.
    private static let families: [(fixture: String, changes: [String: JSON], scheme: String)] = [
        ("llama_bfloat16", [:], "q4_1"), ("llama_bfloat16", [:], "mxfp4"), ("llama_llama3", [:], "stored"),
        ("llama_linear_old", [:], "stored"),
        ("llama_yarn", [:], "float16"), ("mistral_window", [:], "stored"), ("qwen2_window", [:], "bfloat16"),
        ("phi3_long", [:], "stored"), ("gpt2_small", ["scale_attn_by_inverse_layer_idx": false], "stored"),
        ("bert_base", [:], "stored"), ("gemma_early", [:], "stored"),
    ]

    @Test(
        "Codes and scales of other schemes fill blocks of ggml's types, and are read back as they were",
        arguments: [
            ("int4", "Q4_0"), ("int4:block=64,range=7", "Q4_0"), ("int4:block=channel,method=gptq", "Q4_0"),
            ("affine:bits=4,block=32", "Q4_1"), ("affine:bits=5,block=64", "Q5_1"), ("q4_0:fit=mse", "Q4_0"),
        ])
    func repacked(scheme: String, type: String) throws {
        let codec = try Codecs.codec(scheme)
        for shape in [[3, 64], [2, 192]] as [Shape] {
            let floats: [Float] = (0..<shape.count).map { index in
                let scale = Float(1 + index / 40)
                return scale * sin(Float(index * index % 97))
            }
            let source = StoredTensor(name: "w", floats: floats, shape: shape)
            let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
            let found = try #require(GGMLType.holding(codec, shape))
            #expect(found.name == type)
            let blocks = found.blocks(of: weight)
            #expect(blocks.count == found.byteCount(shape))
            // What llama.cpp reads: the weights of the type's own codec.
            let own = try CompressedTensor(
                name: "w", elementType: .float32, shape: shape, codec: Codecs.codec(type.lowercased()),
                sections: found.sections(of: blocks))
            #expect(own.floats() == weight.floats())
            let back = try #require(found.codes(blocks, of: shape, by: codec))
            #expect(back.codec.specification == weight.codec.specification && back.sections == weight.sections)
        }
    }

    @Test(
        "Other codes than those of 32 weights, scales of float16 and 4 or 5 bits fill no blocks",
        arguments: [
            "int4:block=16", "int4:mode=asymmetric", "int4:scales=float32", "affine:bits=3,block=32",
            "affine:bits=4,block=32,scales=bfloat16", "affine:bits=4,block=32,scales=weight", "nf4:block=64",
        ])
    func notRepacked(scheme: String) throws {
        #expect(GGMLType.holding(try Codecs.codec(scheme), [4, 64]) == nil)
        #expect(GGMLType.holding(try Codecs.codec("int4:block=channel"), [4, 48]) == nil)
    }

    @Test("Blocks whose scales differ are not those of a longer block")
    func differingScales() throws {
        let codec = try Codecs.codec("int4:block=64")
        let source = StoredTensor(name: "w", floats: (0..<64).map { Float($0) }, shape: [1, 64])
        let type = try #require(GGMLType.holding(codec, [1, 64]))
        let blocks = type.blocks(of: try CompressedTensor.compressing(source, with: codec, threads: 1).tensor)
        var bytes = blocks.withBytes { Array($0) }
        #expect(type.codes(ByteView(bytes), of: [1, 64], by: codec) != nil)
        bytes[18] ^= 1
        #expect(type.codes(ByteView(bytes), of: [1, 64], by: codec) == nil)
    }

    @Test("An export reads back as the same weights, under their names and in their order", arguments: families.indices)
    func roundTrip(index: Int) throws {
        let (fixture, changes, scheme) = Self.families[index]
        try withTemporaryFolder { folder in
            let model = try Model(fixture, scheme, changing: changes)
            let exporter = GGUFExporter(allowsFallback: false)
            let planned = model.planned
            let gaps = try exporter.check(planned)
            // Files have vectors in float32: numbers of half the width would only lose what the model has.
            let vectors = planned.plan.filter { $0.source.shape.rank < 2 }.map(\.source.name)
            let isRounded = ["float16", "bfloat16"].contains(scheme)
            #expect(gaps.isEmpty != isRounded && Set(gaps.keys).isSubset(of: vectors), "\(gaps)")
            let exported = try model.exported()
            for (name, size) in [("whole", 40 << 30), ("parts", 9000)] {
                let path = "\(folder)/\(name)"
                _ = try GGUFExporter(allowsFallback: false, shardBytes: size).export(exported, to: path)
                try GGUFExporter.output.requireReplaceable(path)
                let back = try ModelFormats.open(path)
                #expect(back.format.name == "gguf" && (name == "whole" || back.files.sources.count > 2))
                let read = try back.model()
                #expect(read.family == model.model.family)
                let stored = read.programs.flatMap(\.constants).compactMap(\.tensor)
                let constants = Dictionary(stored.map { ($0.name, $0.floats()) }) { first, _ in first }
                for weight in exported.program.weights.map(\.tensor) where !weight.name.contains("pooler") {
                    let found = try #require(constants[weight.name], "\(weight.name) of \(constants.keys.sorted())")
                    let expected = weight.floats()
                    // Gains of gemma lose what float32 loses when 1 is added.
                    let isGain = fixture.hasPrefix("gemma") && weight.shape.rank == 1
                    let same = isGain ? zip(found, expected).allSatisfy { abs($0 - $1) < 2e-7 } : found == expected
                    #expect(same && found.count == expected.count, "\(weight.name)")
                }
            }
        }
    }

    /// A fixture, a scheme, and what the rejection says.
    private static let rejections: [(fixture: String, scheme: String, words: [String])] = [
        ("whisper_small", "stored", ["\"whisper\"", "llama, mistral"]),
        ("llama_dynamic", "stored", ["dynamic", "rope_parameters.rope_type"]),
        ("llama_proportional", "stored", ["proportional"]),
        ("phi3_partial", "stored", ["phi3 rotates an even number", "3 of 6"]),
        ("gemma3_old", "stored", ["query_pre_attn_scalar"]),
        ("qwen3_small", "stored", ["qwen3 has no bias in attn_output"]),
        ("gpt2_small", "stored", ["scale_attn_by_inverse_layer_idx"]),
        ("bert_mlm", "stored", ["architectures", "has a head"]),
        ("llama_bfloat16", "int8", ["lm_head.weight", "int8", "use q8_0"]),
        ("llama_bfloat16", "nf4", ["nf4", "use q4_0"]),
        ("llama_bfloat16", "q4_k", ["whole blocks of 256", "use q5_0"]),
        ("llama_llama3", "q8_0", ["whole blocks of 32", "use float16"]),
        ("llama_bfloat16", "sparse:target=0.5+int8", ["sparse"]),
    ]

    @Test(
        "What GGUF cannot express is rejected before compression, with the nearest that it can",
        arguments: rejections.indices)
    func rejected(index: Int) throws {
        let (fixture, scheme, words) = Self.rejections[index]
        let model = try Model(fixture, scheme)
        let error = #expect(throws: RequestError.self) {
            try GGUFExporter(allowsFallback: false).check(model.planned)
        }
        let text = error.map { "\($0); use \($0.diagnostic.candidates.joined(separator: ", "))" } ?? ""
        for word in words { #expect(text.contains(word), "\(text)") }
    }

    @Test("With a fallback such weights keep their own type")
    func fallback() throws {
        let gaps = try GGUFExporter(allowsFallback: true).check(Model("llama_bfloat16", "q6_k").planned)
        #expect(gaps.count == 16 && gaps["lm_head.weight"]?.contains("whole blocks of 256") == true)
    }
}
