import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

/// The folders that `export --contract mlx-lm` and `--contract mlx-audio` write, against the checks of their loaders.
@Suite("Contracts of MLX's runtimes")
struct MLXContractTests {
    private static let affine = "affine:bits=4,block=32,scales=weight,fit=mlx"
    private static let whisper = Fixtures.path("mlx/whisper")

    private static func words(_ model: String, _ contract: String, _ scheme: String) -> [String] {
        ["export", model, "--format", "mlx", "--contract", contract]
            + ["--compress", scheme, "--allow-fallback", "--no-cache"]
    }

    /// The files of a folder that a loader takes, as one dictionary.
    private static func tensors(
        in folder: String, where isRead: (String) -> Bool
    ) throws -> [String: StoredTensor] {
        let names = try Files.list(folder).filter { $0.hasSuffix(".safetensors") && isRead($0) }
        #expect(!names.isEmpty)
        let all = try names.flatMap { try SafetensorsFile("\(folder)/\($0)").tensors }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    }

    private static func configuration(in folder: String) throws -> JSONField {
        JSONField(try JSON.read("\(folder)/config.json"), file: "config.json")
    }

    // MARK: - mlx-lm

    /// A model of each class that a fixture has, with schemes that MLX stores in different ways.
    private static let models: [(fixture: String, scheme: String)] = [
        ("text/llama", affine), ("llama_bfloat16", "affine:bits=3,block=32,scales=weight"),
        ("llama_bfloat16", "mxfp4:fit=mlx"), ("llama_bfloat16", "int8"), ("llama_bfloat16", "stored"),
        ("mistral_window", "stored"), ("qwen2_window", "stored"), ("phi3_long", "stored"), ("gemma_early", "stored"),
        ("mlx/gpt2", affine),
    ]

    /// The fields that mlx-lm's classes require.
    private static let required: [String: [String]] = [
        "qwen2": ["num_key_value_heads"], "gemma": ["num_key_value_heads", "head_dim"],
    ]

    @Test("mlx-lm finds the class's tensors and fields, and no others", arguments: models.indices)
    func mlxLM(index: Int) throws {
        let (fixture, scheme) = Self.models[index]
        try withTemporaryFolder { folder in
            let words = Self.words(Fixtures.path(fixture), "mlx-lm", scheme)
            try CommandRunner.succeed(words + ["-q", "-o", "m"], in: folder)
            let path = "\(folder)/m"
            let configuration = try Self.configuration(in: path)
            let type = try configuration["model_type"].string()
            let sizes =
                type == "gpt2"
                ? ["n_ctx", "n_embd", "n_head", "n_layer", "n_positions", "layer_norm_epsilon", "vocab_size"]
                : [
                    "hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads", "rms_norm_eps",
                    "vocab_size",
                ] + (Self.required[type] ?? [])
            for key in sizes { #expect(configuration[key].exists, "\(key)") }
            let tensors = try Self.tensors(in: path) { $0.hasPrefix("model") }
            let block = configuration["quantization"]
            #expect(block.exists == (scheme != "stored"))
            #expect(configuration["quantization_config"].value == block.value)
            let differences = try MLXClass(ofModelIn: configuration).differences(from: tensors) { layer in
                guard block.exists else { return nil }
                // A member of the block comes before the presence of scales.
                if case .bool(let isQuantized)? = block[layer].value {
                    return isQuantized ? try MLXClass.Scheme(block) : nil
                }
                if block[layer].exists { return try MLXClass.Scheme(block[layer]) }
                return tensors["\(layer).scales"] == nil ? nil : try MLXClass.Scheme(block)
            }
            #expect(differences == [])
            if scheme != "stored" { #expect(tensors.values.contains { $0.elementType == .uint32 }) }
            // mlx-swift takes the files of the index, if all of them are there.
            let index = JSONField(try JSON.read("\(path)/model.safetensors.index.json"), file: "index")
            let files = Set(try index["weight_map"].members().map { try $0.field.string() })
            #expect(files == ["model.safetensors"])
        }
    }

    @Test("The folder is the one of --format mlx, with the files of tokenizer and generation, and replaces one")
    func sideFiles() throws {
        try withTemporaryFolder { folder in
            let model = Fixtures.path("text/llama")
            let words = Self.words(model, "mlx-lm", Self.affine)
            let result = try CommandRunner.run(words + ["--json", "-o", "m"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            let made = try CommandRunner.contents(of: "\(folder)/m")
            for name in ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"] {
                #expect(made[name] == FileManager.default.contents(atPath: "\(model)/\(name)"), "\(name)")
            }
            #expect(!result.errors.contains("tokenizer.json"), "\(result.errors)")
            let document = JSONField(
                try JSON.parse(ByteView(Array(result.output.utf8)), file: "export"), file: "export")
            #expect(try document["files"].array().map { try $0.string() } == made.keys.sorted())
            let export = try #require(try document["exports"].array().first)
            #expect(!export["name"].exists && !document["command"].exists)
            let plain = words.filter { $0 != "--contract" && $0 != "mlx-lm" }
            try CommandRunner.succeed(plain + ["-q", "-o", "plain"], in: folder)
            #expect(try CommandRunner.contents(of: "\(folder)/plain") == made)
            try CommandRunner.succeed(words + ["-q", "-o", "plain"], in: folder)
            #expect(try CommandRunner.contents(of: "\(folder)/plain") == made)
            let verified = try CommandRunner.run(["verify", "m", "--against", model], in: folder)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }

    @Test("What mlx-swift does not load is a warning")
    func findings() throws {
        try withTemporaryFolder { folder in
            func warnings(_ fixture: String) throws -> String {
                let words = Self.words(Fixtures.path(fixture), "mlx-lm", "stored")
                let result = try CommandRunner.run(words + ["-o", "m"], in: folder)
                #expect(result.status == 0, "\(result.errors)")
                return result.errors
            }
            let (bare, gpt2, llama) = (
                try warnings("llama_bfloat16"), try warnings("mlx/gpt2"), try warnings("text/llama")
            )
            #expect(bare.contains("no tokenizer.json"))
            #expect(gpt2.contains("mlx-swift has no class for gpt2"))
            #expect(!llama.contains("mlx-swift"))
        }
    }

    // MARK: - mlx-audio

    /// Returns the name that mlx-audio gives a tensor of mlx-whisper; nil for one that it ignores.
    private static func translated(_ name: String) -> String? {
        var words = name.split(separator: ".").map(String.init)
        if name == "decoder.positional_embedding" { return "model.decoder.embed_positions.weight" }
        guard words.count > 2, ["encoder", "decoder"].contains(words[0]) else { return nil }
        if words[0] == "encoder", ["conv1", "conv2"].contains(words[1]) { return "model.\(name)" }
        let known: [String: [String: String]] = [
            "encoder": ["ln_post": "layer_norm", "blocks": "layers"],
            "decoder": ["ln": "layer_norm", "token_embedding": "embed_tokens", "blocks": "layers"],
        ]
        guard let second = known[words[0]]?[words[1]] else { return nil }
        words[1] = second
        if second == "layers" {
            let inBlock = [
                "attn": "self_attn", "cross_attn": "encoder_attn", "attn_ln": "self_attn_layer_norm",
                "cross_attn_ln": "encoder_attn_layer_norm", "mlp_ln": "final_layer_norm", "mlp1": "fc1", "mlp2": "fc2",
                "query": "q_proj", "key": "k_proj", "value": "v_proj", "out": "out_proj",
            ]
            guard words.count > 4, let third = inBlock[words[3]] else { return nil }
            words[3] = third
            if words.count > 5 {
                guard let fourth = inBlock[words[4]] else { return nil }
                words[4] = fourth
            }
        }
        return (["model"] + words).joined(separator: ".")
    }

    @Test(
        "mlx-audio finds Whisper's tensors, and quantizes all linear layers or none",
        arguments: [affine, "int8", "stored"])
    func mlxAudio(scheme: String) throws {
        try withTemporaryFolder { folder in
            let words = Self.words(Self.whisper, "mlx-audio", scheme)
            let result = try CommandRunner.run(words + ["-o", "m"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.errors.contains("1500 positions") && result.errors.contains("the model has 10"))
            #expect(result.errors.contains("no tokenizer.json") && !result.errors.contains("no generation_config.json"))
            let configuration = try Self.configuration(in: "\(folder)/m")
            #expect(try configuration["model_type"].string() == "whisper")
            let files = try Self.tensors(in: "\(folder)/m") { _ in true }
            #expect(files["alignment_heads"] != nil && files.keys.contains { $0.contains(".blocks.") })
            var tensors: [String: StoredTensor] = [:]
            for (name, tensor) in files { if let name = Self.translated(name) { tensors[name] = tensor } }
            // The loader computes the encoder's positions.
            let positions = "model.encoder.embed_positions.weight"
            #expect(tensors[positions] == nil)
            let shape: Shape = [try configuration["n_audio_ctx"].int(), try configuration["n_audio_state"].int()]
            tensors[positions] = StoredTensor(
                name: positions, floats: [Float](repeating: 0, count: shape.count), shape: shape)
            let block = configuration["quantization"]
            #expect(block.exists == (scheme != "stored"))
            let usual = block.exists ? try MLXClass.Scheme(block) : nil
            let differences = try MLXClass(ofWhisperIn: configuration).differences(from: tensors) { _ in usual }
            #expect(differences == [])
        }
    }

    @Test("Schemes that mlx-audio does not load are errors, and nothing is written")
    func rejected() throws {
        try withTemporaryFolder { folder in
            try #"{"default": "\#(Self.affine)", "rules": [{"match": "*.fc2.weight", "compress": "stored"}]}"#
                .write(toFile: "\(folder)/recipe.json", atomically: true, encoding: .utf8)
            var words = Self.words(Self.whisper, "mlx-audio", "mxfp4:fit=mlx")
            for (scheme, reason) in [(nil, "mode mxfp4"), ("recipe.json", "mlp2")] {
                if let scheme, let index = words.firstIndex(of: "--compress") {
                    words.replaceSubrange(index...index + 1, with: ["--recipe", scheme])
                }
                let result = try CommandRunner.run(words + ["-o", "m"], in: folder)
                #expect(result.status == 2 && result.errors.contains(reason), "\(result.errors)")
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/m"))
            }
        }
    }

    @Test("A tokenizer and a list of special tokens leave mlx-audio nothing to guess")
    func complete() throws {
        try withTemporaryFolder { folder in
            try FileManager.default.copyItem(atPath: Self.whisper, toPath: "\(folder)/model")
            try FileManager.default.copyItem(
                atPath: Fixtures.path("speech/whisper/tokenizer.json"), toPath: "\(folder)/model/tokenizer.json")
            let words = Self.words("model", "mlx-audio", "stored")
            let result = try CommandRunner.run(words + ["-o", "m"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            #expect(!result.errors.contains("tokenizer.json") && !result.errors.contains("generation_config.json"))
            for name in ["tokenizer.json", "generation_config.json"] {
                #expect(FileManager.default.fileExists(atPath: "\(folder)/m/\(name)"), "\(name)")
            }
        }
    }
}
