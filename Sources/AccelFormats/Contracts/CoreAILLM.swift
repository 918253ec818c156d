import AccelByteIO
import AccelPackages

/// The language bundles of apple/coreai-models (ModelBundle.swift, LanguageConfig.swift and CoreAIStaticShapeEngine.swift): a folder with
/// `metadata.json`, a Core AI model and the tokenizer. The runtime chooses its static engine, which runs functions of fixed shapes, by the
/// functions `load_embeddings` and `extend_CACHE_TOKENS`. Its dynamic engine takes one function with free dimensions, and the exporter
/// writes none.
extension RuntimeContract {
    private static let modelName = "model"
    private static let tokenizerFolder = "tokenizer"

    static let coreAILLM = RuntimeContract(
        name: "coreai-llm", summary: "decoders by Core AI",
        families: ["llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "gemma3_text"], format: CoreAIExporter.self,
        parts: [
            Part(
                names: ["load_embeddings", "gather_embeddings", "extend", "prompt_opt"], path: modelName,
                options: [(CoreAIExporter.engine, "static"), (CoreAIExporter.precision, "float16")])
        ],
        sideFiles: [
            "added_tokens.json", "chat_template.jinja", "chat_template.json", "merges.txt", "special_tokens_map.json",
            "tokenizer.json", "tokenizer_config.json", "vocab.json",
        ],
        sideFolder: tokenizerFolder,
        describe: { folder, assets in
            let sizes = try CoreAILLMSizes(in: "\(folder)/\(modelName).aimodel")
            try AtomicFile.write(
                document(sizes, tokenizer: tokenizerName(in: assets), isEmbedded: hasTokenizer(in: folder)).text(
                    pretty: true),
                to: "\(folder)/metadata.json", as: .internal)
        },
        findings: { folder in
            try CoreAILLMSizes(in: "\(folder)/\(modelName).aimodel").findings + tokenizerFindings(in: folder)
        })

    private static func document(_ sizes: CoreAILLMSizes, tokenizer: String, isEmbedded: Bool) -> JSON {
        [
            "metadata_version": "0.2", "kind": "llm", "name": .string(modelName),
            "assets": ["main": .string("\(modelName).aimodel")],
            "language": [
                "tokenizer": .string(tokenizer), "vocab_size": .integer(Int64(sizes.vocabulary)),
                "max_context_length": .integer(Int64(sizes.longestCache)), "embedded_tokenizer": .bool(isEmbedded),
            ],
        ]
    }

    /// Returns the repository of the tokenizer, which the runtime requires, and downloads from if the folder has no tokenizer.
    private static func tokenizerName(in assets: [Asset]) throws -> String {
        guard let configuration = assets.first(where: { $0.name == "config.json" }) else { return "local/model" }
        let file = configuration.name
        let name = JSONField(try JSON.parse(configuration.content, file: file), file: file)["_name_or_path"]
        guard case .string(let text)? = name.value, text.split(separator: "/").count == 2, !text.hasPrefix("/") else {
            return "local/model"
        }
        return text
    }

    private static func hasTokenizer(in folder: String) -> Bool {
        Files.kind(of: "\(folder)/\(tokenizerFolder)/tokenizer.json") == .file
    }

    private static func tokenizerFindings(in folder: String) -> [String] {
        guard hasTokenizer(in: folder) else {
            return missingTokenizer(
                in: "\(folder)/\(tokenizerFolder)", "coreai-models downloads that of the repository in metadata.json")
        }
        guard Files.kind(of: "\(folder)/\(tokenizerFolder)/tokenizer_config.json") != .file else { return [] }
        return ["the model has no tokenizer_config.json: without it coreai-models looks for no tokens that end a turn"]
    }
}

/// The sizes in the functions of a model for the static engine.
private struct CoreAILLMSizes {
    let vocabulary: Int
    /// The positions of the longest cache.
    let longestCache: Int
    /// The other axes of its state: layers, and channels of all key heads.
    private let layers: Int, channels: Int

    /// - Throws: `FormatError` if a function that the engine looks for is missing.
    init(in path: String) throws {
        let package = try CoreAIPackage(at: path)
        func error(_ reason: String) -> FormatError { FormatError(file: path, reason: reason) }
        let caches = package.interfaces.filter { $0.name.hasPrefix("extend_") }.compactMap { function in
            function.states.first { $0.name == "key_cache" }.map { (function, $0.sizes) }
        }
        guard let (function, sizes) = caches.max(by: { ($0.1.last ?? 0) < ($1.1.last ?? 0) }), sizes.count == 5 else {
            throw error("it has no function extend_CACHE_TOKENS with a state key_cache of five axes")
        }
        guard let logits = function.outputs.first(where: { $0.name == "out_logits" }), let count = logits.sizes.last
        else {
            throw error("the function \(function.name) has no output out_logits")
        }
        (vocabulary, layers, channels, longestCache) = (count, sizes[0], sizes[2], sizes[4])
    }

    /// Sentences on sizes that some versions of the engine do not run.
    var findings: [String] {
        let widest = max(layers, channels)
        guard widest >= longestCache else { return [] }
        return [
            "early versions of coreai-models take the longest axis of a cache as its positions: they find \(widest) in place of "
                + "\(longestCache), and load no function"
        ]
    }
}
