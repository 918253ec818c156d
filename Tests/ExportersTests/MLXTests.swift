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

/// MLX models that accelc writes and reads. scripts/peers/mlx.py compares them with MLX itself.
@Suite("MLX models")
struct MLXTests {
    private static let scheme = "affine:bits=4,block=32,scales=weight,fit=mlx"

    /// The schemes that the fixtures of `mlx` were made with, the usual one first.
    private static let schemes: [String: (usual: String, others: [String: String])] = [
        "llama_affine": (
            scheme,
            [
                "lm_head.weight": "affine:bits=8,block=64,scales=weight,fit=mlx",
                "model.layers.1.self_attn.k_proj.weight": "stored",
            ]
        ),
        "llama_floats": (
            "mxfp4:fit=mlx",
            [
                "lm_head.weight": "mxfp8:fit=mlx",
                "model.layers.1.mlp.up_proj.weight": "nvfp4:global=none,fit=mlx",
            ]
        ),
    ]

    private static func recipe(_ name: String) throws -> Recipe {
        let (usual, others) = try #require(schemes[name])
        return Recipe(
            default: try Codecs.codec(usual),
            rules: try others.sorted { $0.key < $1.key }.map {
                try Recipe.Rule(weight: $0.key, codec: Codecs.codec($0.value))
            })
    }

    /// A model of a fixture, with the schemes of a recipe.
    private struct Model {
        let source: any ModelSource
        let model: SourceModel
        let functions: [FrozenProgram]
        var recipe: Recipe

        init(_ fixture: String, _ recipe: Recipe) throws {
            source = try ModelFormats.open(Fixtures.path(fixture))
            model = try source.model()
            functions = try model.programs.freezingToUsualShapes()
            self.recipe = recipe
        }

        var planned: PlannedExport {
            get throws {
                PlannedExport(
                    functions, recipe.plan(for: functions), family: model.family, origins: model.origins,
                    assets: try source.assets)
            }
        }

        var exported: ExportedModel {
            get throws {
                ExportedModel(
                    program: try recipe.compressing(functions, threads: 1), family: model.family,
                    provenance: [("accelc.version", "x")], origins: model.origins, assets: try source.assets)
            }
        }
    }

    private func file(_ path: String) throws -> [String: StoredTensor] {
        Dictionary(uniqueKeysWithValues: try SafetensorsFile(path).tensors.map { ($0.name, $0) })
    }

    @Test(
        "The tensors and the quantization block are those that mlx-lm writes for the same model",
        arguments: schemes.keys.sorted())
    func bytes(name: String) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/model"
            let exporter = MLXExporter(allowsFallback: false)
            let model = try Model("llama_bfloat16", Self.recipe(name))
            #expect(try exporter.check(model.planned) == [:])
            let report = try exporter.export(model.exported, to: path)
            let peer = Fixtures.path("mlx/\(name)")
            let (own, others) = (
                try file("\(path)/model.safetensors"), try file("\(peer)/model.safetensors")
            )
            #expect(own.keys.sorted() == others.keys.sorted())
            for (name, tensor) in own {
                let other = try #require(others[name])
                #expect(tensor.elementType == other.elementType && tensor.shape == other.shape, "\(name)")
                #expect(tensor.bytes == other.bytes, "\(name)")
            }
            let blocks = try [path, peer].map {
                JSONField(try JSON.read("\($0)/config.json"), file: "config.json")["quantization"]
            }
            let layers = model.functions[0].program.constants.filter(\.isWeight).map(\.name).filter {
                $0.hasSuffix(".weight")
            }.map { String($0.dropLast(".weight".count)) }
            for layer in layers + [""] {
                let sides = try blocks.map { try MLXQuantization.scheme(of: layer, in: $0) }
                #expect(sides[0] == sides[1], "\(layer)")
            }
            #expect(try blocks[0].members().count == blocks[1].members().count)
            let weights = try ModelFormats.open(path).weights
            let bits = weights.reduce(0) { $0 + $1.storedBits }
            #expect(report.bitsPerWeight == Double(bits) / Double(weights.reduce(0) { $0 + $1.shape.count }))
        }
    }

    @Test("A model of mlx-lm decodes to weights that give the logits of mlx-lm", arguments: schemes.keys.sorted())
    func reading(name: String) throws {
        let source = try ModelFormats.open(Fixtures.path("mlx/\(name)"))
        #expect(source.format.name == MLXFormat.name)
        let golden = try file(Fixtures.path("mlx/\(name).golden.safetensors"))
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

    @Test("A large model is written in several files, which read back as the same weights")
    func shards() throws {
        try withTemporaryFolder { folder in
            let model = try Model("llama_bfloat16", Self.recipe("llama_affine"))
            let (whole, parts) = ("\(folder)/whole", "\(folder)/parts")
            _ = try MLXExporter(allowsFallback: false).export(model.exported, to: whole)
            _ = try MLXExporter(allowsFallback: false, shardBytes: 20_000).export(model.exported, to: parts)
            let names = try Files.list(parts).filter { $0.hasPrefix("model-") }
            #expect(names.count == 3 && names.contains("model-00002-of-00003.safetensors"))
            let weights = try [whole, parts].map { try ModelFormats.open($0).weights }
            #expect(weights[0].map(\.name) == weights[1].map(\.name))
            for (left, right) in zip(weights[0], weights[1]) {
                #expect(try left.values().bytes == right.values().bytes, "\(left.name)")
                #expect(left.scheme == right.scheme)
            }
            for path in [whole, parts] { try MLXExporter.output.requireReplaceable(path) }
            try "{}".write(toFile: "\(parts)/notes.json", atomically: true, encoding: .utf8)
            #expect(throws: RequestError.self) { try MLXExporter.output.requireReplaceable(parts) }
            #expect(throws: RequestError.self) {
                try MLXExporter.output.requireReplaceable(Fixtures.path("mlx/llama_affine"))
            }
        }
    }

    /// A fixture, a scheme, and what the rejection says.
    private static let rejections: [(fixture: String, scheme: String, words: [String])] = [
        ("bert_base", "stored", ["\"bert\"", "llama, mistral"]),
        ("gemma3_old", "stored", ["gemma3_text", "final_logit_softcapping"]),
        ("phi3_partial", "stored", ["phi3 rotates an even number", "0.5 of 6"]),
        ("qwen3_small", "stored", ["qwen3 has no bias in", "self_attn"]),
        (
            "llama_bfloat16", "int8:mode=asymmetric",
            ["lm_head.weight", "int8", "affine:bits=8,block=64,scales=weight,fit=mlx"]
        ),
        ("llama_bfloat16", "int4:block=16", ["groups of 32, 64 or 128", "affine:bits=4,block=32"]),
        ("llama_bfloat16", "nvfp4", ["nvfp4", "use nvfp4:global=none,fit=mlx"]),
        ("llama_bfloat16", "mxfp8:type=e5m2", ["type=e5m2", "use mxfp8:fit=mlx"]),
        ("llama_bfloat16", "nf4", ["nf4", "affine:bits=4,block=32"]),
        ("llama_bfloat16", "palette:bits=6", ["palette", "affine:bits=6,block=64"]),
        ("llama_bfloat16", "affine:bits=4,block=16", ["groups of 32, 64 or 128", "affine:bits=4,block=32"]),
        ("llama_bfloat16", "affine:bits=3,block=64", ["down_proj", "96", "affine:bits=3,block=32"]),
        ("llama_bfloat16", "sparse:target=0.5+int8", ["sparse", "affine:"]),
    ]

    @Test(
        "What MLX cannot express is rejected before compression, with the nearest that it can",
        arguments: rejections.indices)
    func rejected(index: Int) throws {
        let (fixture, scheme, words) = Self.rejections[index]
        let model = try Model(fixture, Recipe(default: try Codecs.codec(scheme)))
        let error = #expect(throws: RequestError.self) {
            try MLXExporter(allowsFallback: false).check(model.planned)
        }
        let text = error.map { "\($0); use \($0.diagnostic.candidates.joined(separator: ", "))" } ?? ""
        for word in words { #expect(text.contains(word), "\(text)") }
    }

    @Test("With a fallback such weights keep their own type, and the block says that their layers are plain")
    func fallback() throws {
        let recipe = Recipe(default: try Codecs.codec("affine:bits=4,block=64,scales=weight,fit=mlx"))
        let model = try Model("llama_bfloat16", recipe)
        let gaps = try MLXExporter(allowsFallback: true).check(model.planned)
        #expect(gaps.keys.sorted() == (0..<2).map { "model.layers.\($0).mlp.down_proj.weight" })
        let storage = MLXScheme.storage(
            of: try Codecs.codec(MLXExporter.plainScheme), elementType: .bfloat16, shape: [64, 96], as: "a.weight")
        guard case .plain = storage else { return #expect(Bool(false), "\(storage)") }
        let usual = MLXScheme(bits: 4, group: 64)
        let block = try #require(MLXQuantization(of: [("a", usual), ("b", nil), ("c", usual)]))
        #expect(block.json["b"] == false && block.json["a"] == nil && block.json["group_size"] == 64)
    }

    @Test(
        "Symmetric integers are stored as affine codes without loss, and read back as they were",
        arguments: [
            "int4", "int4:block=64,scales=float32", "int4:block=channel", "int8", "int8:axis=tensor",
            "int8:scales=float16",
        ])
    func integers(scheme: String) throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/model"
            let exporter = MLXExporter(allowsFallback: true)
            let codec = try Codecs.codec(scheme)
            var model = try Model("llama_bfloat16", Recipe(default: codec))
            let gaps = try exporter.check(model.planned)
            model.recipe.rules = try gaps.keys.map { try Recipe.Rule(weight: $0, codec: Codecs.codec("stored")) }
            let exported = try model.exported
            _ = try exporter.export(exported, to: path)
            let tensors = try file("\(path)/model.safetensors")
            let source = try #require(ModelFormats.open(path) as? QuantizedSource)
            let encoded = try source.model().encoded
            var count = 0
            for weight in exported.program.weights.map(\.tensor) where weight.codec.name == codec.name {
                let read = try #require(encoded[weight.name]).tensor()
                #expect(read.codec.values == weight.codec.values && read.sections == weight.sections, "\(weight.name)")
                // By MLX's formula.
                let layer = weight.name.dropLast(".weight".count)
                let (scales, biases) = (
                    try #require(tensors["\(layer).scales"]).floats(), try #require(tensors["\(layer).biases"]).floats()
                )
                let codes = try #require(tensors["\(layer).weight"]).bytes.withBytes { [UInt8]($0) }
                let isByte = codec.name == "int8"
                let group = weight.shape.count / scales.count
                for (index, value) in weight.floats().enumerated() {
                    let byte = isByte ? codes[index] : codes[index / 2]
                    let code = isByte ? byte : index % 2 == 0 ? byte & 15 : byte >> 4
                    let scale = scales[index / group]
                    let found = Float(Double(scale) * Double(code) + Double(biases[index / group]))
                    guard found == value else {
                        return #expect(Bool(false), "\(weight.name) \(index): \(found) \(value)")
                    }
                }
                count += 1
            }
            #expect(count >= 14)
        }
    }

    @Test("A scale whose bias exceeds float16 is rejected with a type that has it")
    func overflow() throws {
        let source = StoredTensor(name: "a.weight", floats: (0..<32).map { Float($0 - 16) * 20_000 }, shape: [1, 32])
        let weight = try CompressedTensor.compressing(source, with: Codecs.codec("int4"), threads: 1).tensor
        let error = #expect(throws: RequestError.self) { try MLXWeight(weight, as: source.name) }
        #expect(error?.description.contains("use scales=float32") == true)
    }

    /// Changes of config.json of `mlx/llama_affine`, and what the rejection says.
    private static let corruptions: [(old: String, new: String, words: String)] = [
        ("\"bits\": 4", "\"bits\": 7", "quantization.bits"),
        ("\"bits\": 4", "\"bits\": 3", "are not of 3 bits in groups of 32"),
        ("\"group_size\": 32", "\"group_size\": 64", "are not of 4 bits in groups of 64"),
        (
            "\"mode\": \"affine\",\n        \"lm_head\"", "\"mode\": \"mxfp4\",\n        \"lm_head\"",
            "which the mode mxfp4 has, found BF16"
        ),
        (
            "\"mode\": \"affine\",\n        \"lm_head\"", "\"mode\": \"nvfp4\",\n        \"lm_head\"",
            "quantization.group_size"
        ),
        ("\"mode\": \"affine\"", "\"mode\": \"mxfp6\"", "the mode \"mxfp6\" is not supported"),
        ("\"lm_head\": {", "\"lm_hat\": {", "\"lm_head.weight\""),
        ("k_proj\": false", "q_proj\": false", "says that the layer is plain"),
    ]

    @Test(
        "A block that contradicts the tensors is rejected with the field or the tensor", arguments: corruptions.indices)
    func contradictions(index: Int) throws {
        let (old, new, words) = Self.corruptions[index]
        try withTemporaryFolder { folder in
            let path = "\(folder)/model"
            try FileManager.default.copyItem(atPath: Fixtures.path("mlx/llama_affine"), toPath: path)
            let text = try String(contentsOfFile: "\(path)/config.json", encoding: .utf8)
            #expect(text.contains(old))
            try text.replacingOccurrences(of: old, with: new)
                .write(toFile: "\(path)/config.json", atomically: true, encoding: .utf8)
            do {
                _ = try ModelFormats.open(path)
                Issue.record("\(new) is accepted")
            } catch let error as any ReportedError {
                #expect(error.description.contains(words), "\(error)")
            }
        }
    }

    @Test("Fields that newer configurations nest are written as mlx-lm reads them")
    func configuration() throws {
        func members(_ fixture: String) throws -> JSON {
            let content = try MappedFile(Fixtures.path("\(fixture)/config.json")).bytes
            let family = try MLXFamily.named(try #require(try JSON.parse(content, file: fixture)["model_type"]?.text))
            let configuration = try MLXConfiguration(
                of: [Asset(name: "config.json", content: content)], for: family, ownsHead: false)
            return try JSON.parse(ByteView(Array(configuration.text(nil).utf8)), file: fixture)
        }
        let llama = try members("llama_llama3")
        #expect(llama["rope_theta"] == 500.0 && llama["tie_word_embeddings"] == true)
        #expect(llama["rope_scaling"]?["type"] == "llama3" && llama["rope_scaling"]?["factor"] == 8.0)
        #expect(llama["quantization"] == nil)
        let old = try members("llama_linear_old")
        #expect(old["rope_scaling"]?["type"] == "linear" && old["rope_theta"] == 3000.0)
        let phi = try members("phi3_long")
        #expect(phi["original_max_position_embeddings"] == 8 && phi["rope_scaling"]?["type"] == "longrope")
    }
}

extension JSON {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
