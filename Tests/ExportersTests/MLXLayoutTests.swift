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

/// Models whose tensors have other names and axes in MLX: GPT-2 of mlx-lm, and Whisper of mlx-examples.
@Suite("MLX models with names of their own")
struct MLXLayoutTests {
    private static let models = ["gpt2", "whisper"]
    private static let scheme = "affine:bits=4,block=32,scales=weight,fit=mlx"

    private func tensors(_ folder: String) throws -> [String: StoredTensor] {
        let names = try Files.list(folder).filter { $0.hasSuffix(".safetensors") }
        let all = try names.flatMap { try SafetensorsFile("\(folder)/\($0)").tensors }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    }

    /// Exports a model, with weights that MLX cannot quantize as they are.
    private func export(
        _ fixture: String, _ scheme: String, rules: [String: String] = [:], parts: [String] = [], to path: String
    ) throws {
        let source = try ModelFormats.open(Fixtures.path(fixture))
        let model = try source.model(parts: parts, ignoredTensors: [], allowsIdlePatterns: false)
        let functions = try model.programs.freezingToUsualShapes()
        func recipe(_ plain: [String]) throws -> Recipe {
            let others = Dictionary(uniqueKeysWithValues: plain.map { ($0, "stored") }).merging(rules) { $1 }
            return Recipe(
                default: try Codecs.codec(scheme),
                rules: try others.map { try Recipe.Rule(weight: $0.key, codec: Codecs.codec($0.value)) })
        }
        let exporter = MLXExporter(allowsFallback: true)
        let assets = try source.assets
        let gaps = try exporter.check(
            PlannedExport(
                functions, recipe([]).plan(for: functions), family: model.family, origins: model.origins, assets: assets
            ))
        let program = try recipe(Array(gaps.keys)).compressing(functions, threads: 1)
        _ = try exporter.export(
            ExportedModel(
                program: program, family: model.family, provenance: [], origins: model.origins, assets: assets),
            to: path)
    }

    @Test("The tensors are those that MLX has of the same model", arguments: models)
    func bytes(name: String) throws {
        try withTemporaryFolder { folder in
            try export("mlx/\(name)", Self.scheme, to: "\(folder)/model")
            let computed = "encoder.embed_positions.weight"
            let own = try tensors("\(folder)/model").filter { $0.key != computed }
            let others = try tensors(Fixtures.path("mlx/\(name)_affine"))
            #expect(own.keys.sorted() == others.keys.sorted())
            for (key, tensor) in own {
                let other = try #require(others[key])
                #expect(tensor.elementType == other.elementType && tensor.shape == other.shape, "\(key)")
                #expect(tensor.bytes == other.bytes, "\(key)")
            }
            let configurations = try ["\(folder)/model", Fixtures.path("mlx/\(name)_affine")].map {
                JSONField(try JSON.read("\($0)/config.json"), file: "config.json")
            }
            for key in ["n_ctx", "n_mels", "n_audio_ctx", "n_text_head", "n_vocab", "model_type"] {
                #expect(configurations[0][key].value == configurations[1][key].value, "\(key)")
            }
            #expect(
                try MLXQuantization.scheme(of: "", in: configurations[0]["quantization"])
                    == MLXScheme(bits: 4, group: 32))
        }
    }

    @Test("A plain export is read back as the checkpoint, with its names, shapes and values", arguments: models)
    func plain(name: String) throws {
        try withTemporaryFolder { folder in
            try export("mlx/\(name)", "stored", to: "\(folder)/model")
            let wanted = try tensors(Fixtures.path("mlx/\(name)"))
            let source = try ModelFormats.open("\(folder)/model")
            let found = try source.weights
            #expect(found.map(\.name) == wanted.keys.sorted())
            for weight in found {
                let (own, other) = (try weight.values(), try #require(wanted[weight.name]))
                #expect(weight.shape == other.shape && own.shape == other.shape)
                #expect(own.bytes == other.bytes, "\(weight.name)")
            }
            let (own, other) = (
                try source.model(), try ModelFormats.open(Fixtures.path("mlx/\(name)")).model()
            )
            #expect(own.programs.map(\.name) == other.programs.map(\.name))
            #expect(own.family == name)
        }
    }

    @Test("Quantized weights keep their codes, those of transposed matrices too", arguments: models)
    func codes(name: String) throws {
        let path = Fixtures.path("mlx/\(name)_affine")
        let source = try ModelFormats.open(path)
        let files = try tensors(path)
        let model = try source.model()
        #expect(model.encoded.count == files.keys.filter { $0.hasSuffix(".scales") }.count)
        let family = try MLXFamily.named(name)
        for (key, weight) in model.encoded {
            let place = try #require(family.names.place(of: key))
            #expect(try weight.tensor().sections[0] == files[place.name]?.bytes, "\(key)")
            let constant = model.programs.lazy.flatMap(\.constants).first { $0.name == key }
            #expect(constant?.shape == weight.shape, "\(key)")
        }
    }

    @Test("A quantized gpt2 of mlx-lm gives the logits of mlx-lm, and so does a plain export")
    func logits() throws {
        try withTemporaryFolder { folder in
            let golden = Dictionary(
                uniqueKeysWithValues: try SafetensorsFile(Fixtures.path("mlx/gpt2_affine.golden.safetensors")).tensors
                    .map {
                        ($0.name, $0)
                    })
            try export("mlx/gpt2", "stored", to: "\(folder)/plain")
            for (path, name) in [(Fixtures.path("mlx/gpt2_affine"), "out.logits"), ("\(folder)/plain", "plain.logits")]
            {
                let tokens = HostTensor(try #require(golden["in.input_ids"]))
                let (batch, count) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
                let program = try #require(try ModelFormats.open(path).model().programs.first)
                let function = try program.freezing(
                    ShapeBindings(["batch": batch, "tokens": count, "cache": count]))
                var states: [String: HostTensor] = [:]
                let results = try function.evaluate(
                    ["input_ids": tokens, "position": HostTensor([0] as [Int64], [1])], states: &states)
                let found = try #require(results.first).tensor.floats
                let expected = try #require(golden[name]).floats()
                #expect(found.count == expected.count)
                let largest = expected.map(abs).max() ?? 0
                for (own, other) in zip(found, expected) { #expect(abs(own - other) < 2e-5 * largest, "\(name)") }
            }
        }
    }

    @Test("Scales of whole rows are repeated for groups of one size, which all layers of Whisper have")
    func rowScales() throws {
        try withTemporaryFolder { folder in
            try export("mlx/whisper", "int8", to: "\(folder)/model")
            let configuration = JSONField(try JSON.read("\(folder)/model/config.json"), file: "config.json")
            let scheme = try MLXQuantization.scheme(of: "", in: configuration["quantization"])
            #expect(scheme == MLXScheme(bits: 8, group: 32))
            let files = try tensors("\(folder)/model")
            let inner = try #require(files["decoder.blocks.0.mlp2.scales"])
            #expect(inner.shape.dimensions[1] == 4)
            // MLX adds the bias to the scale times codes from 0 on, of which 128 stands for 0.
            let biases = try #require(files["decoder.blocks.0.mlp2.biases"])
            #expect(biases.floats() == inner.floats().map { $0 * -128 })
        }
    }

    @Test("What the classes do not have is rejected by the field or the tensor")
    func rejected() throws {
        func rejection(
            _ fixture: String, _ scheme: String = "stored", rules: [String: String] = [:], parts: [String] = []
        ) -> String {
            do {
                try withTemporaryFolder {
                    try export(fixture, scheme, rules: rules, parts: parts, to: "\($0)/model")
                }
            } catch { return "\(error)" }
            return "nothing"
        }
        #expect(rejection("gpt2_small").contains("n_inner"))
        #expect(rejection("whisper_small").contains("encoder_ffn_dim"))
        #expect(rejection("mlx/whisper", parts: ["encoder"]).contains("export all parts"))
        let mixed = rejection(
            "mlx/whisper", Self.scheme, rules: ["model.decoder.layers.0.fc1.weight": "affine:bits=8,block=32"])
        #expect(mixed.contains("one scheme for all quantized layers"), "\(mixed)")
    }

    @Test(
        "Hostile tensors are rejected by name",
        arguments: ["llama_affine", "llama_floats", "gpt2_affine", "whisper_affine"])
    func hostile(name: String) throws {
        let path = Fixtures.path("mlx/\(name)")
        let layers = try tensors(path).values.sorted { $0.name < $1.name }
        // Each tensor left out, of another type or shape, or doubled under another name. An error has to name a tensor.
        for (index, tensor) in layers.enumerated() {
            var others: [StoredTensor?] = [nil, StoredTensor(name: tensor.name, integers: [1, 2, 3], shape: [3])]
            others.append(StoredTensor(name: tensor.name, floats: [.nan], shape: [1, 1]))
            others.append(StoredTensor(name: tensor.name, floats: [], shape: [0, 4]))
            others.append(
                StoredTensor(
                    name: tensor.name, elementType: .uint8, shape: [2, 2],
                    bytes: ByteView([UInt8](repeating: 255, count: 4))))
            others.append(
                StoredTensor(name: tensor.name, elementType: .uint32, shape: [1, 1], bytes: ByteView([UInt32.max])))
            for other in others {
                var changed = layers
                changed.remove(at: index)
                if let other { changed.append(other) }
                try withTemporaryFolder { folder in
                    try SafetensorsWriter.write(changed, to: "\(folder)/model.safetensors", as: .part, metadata: [])
                    try FileManager.default.copyItem(atPath: "\(path)/config.json", toPath: "\(folder)/config.json")
                    do {
                        let source = try ModelFormats.open(folder)
                        for weight in try source.weights { _ = try weight.values() }
                        _ = try source.model()
                        // Only what no program reads may change.
                        #expect(tensor.name == "alignment_heads", "\(tensor.name) \(String(describing: other?.shape))")
                    } catch let error as any ReportedError {
                        #expect(!error.description.isEmpty)
                    }
                }
            }
        }
    }
}
