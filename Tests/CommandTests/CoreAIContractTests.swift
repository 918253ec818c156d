import AccelByteIO
import AccelFormats
import Foundation
import TestSupport
import Testing

/// The folder that `export --contract coreai-llm` writes, against the checks of apple/coreai-models: ModelBundle.swift, LanguageConfig.swift
/// and CoreAIStaticShapeEngine.swift.
@Suite("The contract of coreai-models' language bundles")
struct CoreAIContractTests {
    private static let model = Fixtures.path("text/llama")
    private static let words = ["--format", "coreai", "--contract", "coreai-llm", "--no-cache"]
    private static let folder = SharedFolder { folder in
        try CommandRunner.succeed(["export", model] + words + ["-q", "-o", "kit"], in: folder)
        try CommandRunner.succeed(["export", Fixtures.path("gemma_early")] + words + ["-q", "-o", "tied"], in: folder)
    }

    /// Returns the functions by their names.
    private static func functions(of kit: String) throws -> [String: CoreAIInterface] {
        let package = try CoreAIPackage(at: "\(folder.path)/\(kit)/model.aimodel")
        #expect(try package.check())
        return Dictionary(uniqueKeysWithValues: package.interfaces.map { ($0.name, $0) })
    }

    private static func document(of kit: String) throws -> JSONField {
        JSONField(try JSON.read("\(folder.path)/\(kit)/metadata.json"), file: "metadata.json")
    }

    private static func described(_ ports: [CoreAIInterface.Port]) -> Set<String> { Set(ports.map(\.description)) }

    @Test("metadata.json has the fields that the bundle requires, and names files that are there")
    func bundle() throws {
        let document = try Self.document(of: "kit")
        #expect(try document["metadata_version"].string() == "0.2")
        #expect(try document["kind"].string() == "llm" && document["name"].string() == "model")
        let assets = try document["assets"].members().map { ($0.key, try $0.field.string()) }
        #expect(assets.map(\.0) == ["main"] && assets.map(\.1) == ["model.aimodel"])
        let path = try Self.folder.path
        for file in ["main.mlirb", "main.hash", "metadata.json"] {
            #expect(FileManager.default.fileExists(atPath: "\(path)/kit/model.aimodel/\(file)"), "\(file)")
        }
        let language = document["language"]
        #expect(try language["vocab_size"].int() == 420 && language["max_context_length"].int() == 256)
        #expect(try !language["tokenizer"].string().isEmpty && language["embedded_tokenizer"].bool())
        for name in ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"] {
            #expect(
                FileManager.default.contents(atPath: "\(path)/kit/tokenizer/\(name)")
                    == FileManager.default.contents(atPath: "\(Self.model)/\(name)"), "\(name)")
        }
        // Without a tokenizer the runtime downloads one.
        #expect(try !Self.document(of: "tied")["language"]["embedded_tokenizer"].bool())
    }

    @Test(
        "The engine is the static one, and finds a function for each cache and block, with the embeddings of each block"
    )
    func names() throws {
        for (kit, lengths) in [("kit", [256]), ("tied", [64])] {
            let names = Set(try Self.functions(of: kit).keys)
            var expected: Set = ["load_embeddings"]
            for block in [8, 16, 64] {
                expected.insert("gather_embeddings_\(block)")
                for length in lengths {
                    expected.formUnion(["extend_\(length)_\(block)", "prompt_opt_\(length)_\(block)"])
                }
            }
            #expect(names == expected)
            // The longest cache is that of the description, whose names are parsed from their ends.
            let caches = names.filter { $0.hasPrefix("extend") || $0.hasPrefix("prompt") }.compactMap { name -> Int? in
                let words = name.split(separator: "_")
                return Int(words[words.count - 2])
            }
            #expect(try caches.max() == Self.document(of: kit)["language"]["max_context_length"].int())
        }
    }

    /// Vocabulary, width, layers and channels of all key heads of the models.
    private static let sizes = ["kit": [420, 32, 2, 16], "tied": [47, 24, 2, 8]]

    @Test("Functions have the ports of the engine", arguments: ["kit", "tied"])
    func ports(kit: String) throws {
        let functions = try Self.functions(of: kit)
        let sizes = try #require(Self.sizes[kit])
        let (vocabulary, width, layers, channels) = (sizes[0], sizes[1], sizes[2], sizes[3])
        let table = "embedding_table float16 \([vocabulary, 1, width])"
        let load = try #require(functions["load_embeddings"])
        #expect(load.inputs.isEmpty && load.states.isEmpty && Self.described(load.outputs) == [table])
        for block in [8, 16, 64] {
            let gather = try #require(functions["gather_embeddings_\(block)"])
            #expect(Self.described(gather.inputs) == ["in_new_token_ids int32 \([1, block])", table])
            #expect(Self.described(gather.outputs) == ["gathered_embeddings float16 \([1, block, 1, width])"])
            #expect(gather.states.isEmpty)
        }
        for function in functions.values where function.name.hasPrefix("extend") || function.name.hasPrefix("prompt") {
            let numbers = function.name.split(separator: "_").suffix(2).compactMap { Int($0) }
            let (length, block) = (numbers[0], numbers[1])
            let givesLogits = function.name.hasPrefix("extend")
            var inputs: Set = [
                "transformer_input float16 \([1, block, 1, width])", "position_ids uint16 \([1, block])",
                "in_step int32 [1]", "causal_mask float16 \([1, length, 1, block])",
            ]
            if givesLogits, kit == "tied" { inputs.insert(table) }
            #expect(Self.described(function.inputs) == inputs, "\(function.name)")
            #expect(
                function.states.map(\.description)
                    == ["key_cache", "value_cache"].map { "\($0) float16 \([layers, 1, channels, 1, length])" })
            let logits = givesLogits ? [1, 1, block, vocabulary] : [1]
            #expect(function.outputs.map(\.description) == ["out_logits float16 \(logits)"], "\(function.name)")
        }
    }

    @Test("The folder replaces itself, weights are compressed by the request, and what the runtime lacks is a warning")
    func again() throws {
        try Self.folder.withCopy { folder in
            let before = try CommandRunner.contents(of: "\(folder)/kit")
            let result = try CommandRunner.run(["export", Self.model] + Self.words + ["-o", "kit"], in: folder)
            #expect(result.status == 0 && !result.errors.contains("tokenizer"), "\(result.errors)")
            #expect(try CommandRunner.contents(of: "\(folder)/kit") == before)
            #expect(result.output.contains("model.aimodel: "), "\(result.output)")
            let small = try CommandRunner.run(
                ["export", Fixtures.path("gemma_early")] + Self.words + ["--compress", "int8", "-o", "tied"], in: folder
            )
            #expect(small.status == 0 && small.errors.contains("no tokenizer.json"), "\(small.errors)")
        }
    }

    @Test("Models of other families, and choices that the contract makes, are errors")
    func rejected() throws {
        try withTemporaryFolder { folder in
            let other = try CommandRunner.run(
                ["export", Fixtures.path("bert_base")] + Self.words + ["-o", "kit"], in: folder)
            #expect(other.status == 2 && other.errors.contains("coreai-llm") && other.errors.contains("bert"))
            let engine = try CommandRunner.run(
                ["export", Self.model] + Self.words + ["--engine", "none", "-o", "kit"], in: folder)
            #expect(engine.status == 2 && engine.errors.contains("--engine"))
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/kit"))
        }
    }
}
