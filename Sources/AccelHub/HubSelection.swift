import AccelByteIO

/// The files of a repository that are downloaded.
struct HubSelection: Equatable {
    /// The weights of a model.
    enum Weights: Equatable {
        /// The files themselves.
        case files([String])
        /// The shards that an index lists.
        case index(String)
    }

    /// Small files that describe the model, `config.json` first.
    var configuration: [String] = []
    /// Tokenizer and chat templates.
    var texts: [String] = []
    var weights: Weights
    /// The weights are a part of their own, which was named or is the only one, rather than the model of the folder.
    var isSingleFile = false

    /// Chooses the files.
    /// - Throws: `HubError` (`fileNotFound`, `severalFiles` or `noWeights`).
    init(of listing: HubListing, for reference: HubReference) throws(HubError) {
        let paths = listing.files.keys.sorted()
        if let name = reference.file {
            weights = .files(try Self.named(name, in: paths, reference))
            isSingleFile = true
        } else {
            weights = try Self.weights(in: paths, reference)
        }
        if case .files(let files) = weights, files.allSatisfy({ $0.hasSuffix(Self.gguf) }) {
            // A GGUF file holds its configuration and its tokenizer.
            isSingleFile = true
            return
        }
        configuration = paths.filter(Self.isConfiguration)
        if let index = configuration.firstIndex(of: "config.json") {
            configuration.insert(configuration.remove(at: index), at: 0)
        }
        texts = paths.filter(Self.isText)
        guard configuration.contains("modules.json") else { return }
        // Modules of sentence-transformers may have weights of their own, such as 2_Dense.
        let modules = paths.filter { Self.isModuleFile($0, named: Self.single) }
        if case .files(let files) = weights { weights = .files(files + modules) }
    }

    private static let (gguf, safetensors) = (".gguf", ".safetensors")
    private static let (single, index) = ("model.safetensors", "model.safetensors.index.json")

    private static func weights(in paths: [String], _ reference: HubReference) throws(HubError) -> Weights {
        if paths.contains(single) { return .files([single]) }
        if paths.contains(index) { return .index(index) }
        let tensors = paths.filter { $0.hasSuffix(safetensors) && !$0.contains("/") }
        if tensors.count == 1 { return .files(tensors) }
        let candidates = tensors.isEmpty ? files(ofGGUF: paths) : tensors.map { [$0] }
        switch candidates.count {
        case 1: return .files(candidates[0])
        case 0: throw HubError(.noWeights, subject: "\(reference)")
        default: throw HubError(.severalFiles, subject: "\(reference)", candidates: candidates.map { $0[0] })
        }
    }

    /// Returns the file with a name, or the GGUF file whose name ends with it, with all parts of it.
    private static func named(_ name: String, in paths: [String], _ reference: HubReference) throws(HubError)
        -> [String]
    {
        let models = files(ofGGUF: paths)
        if paths.contains(name) { return models.first { $0.contains(name) } ?? [name] }
        let fitting = models.filter { stem(ofGGUF: $0[0]).ends(with: name.lowercased()) }
        if fitting.count == 1 { return fitting[0] }
        if fitting.isEmpty {
            throw HubError(
                .fileNotFound, subject: "\(reference)", location: name, candidates: models.map { $0[0] })
        }
        throw HubError(.severalFiles, subject: "\(reference)", location: name, candidates: fitting.map { $0[0] })
    }

    /// Returns the GGUF files that are models, each with all of its parts. (Projectors of images are not.)
    private static func files(ofGGUF paths: [String]) -> [[String]] {
        var models: [String: [String]] = [:]
        for path in paths where path.hasSuffix(gguf) && !Files.name(of: path).hasPrefix("mmproj") {
            models[stem(ofGGUF: path).text, default: []].append(path)
        }
        return models.values.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }

    /// The name of a GGUF file in lower case, without its suffix and the number of a part, such as `-00001-of-00003`.
    private struct Stem {
        var text: String

        /// Returns whether the name ends with a word, which begins after a separator.
        func ends(with word: String) -> Bool {
            guard text.hasSuffix(word) else { return false }
            return text.dropLast(word.count).last.map { "-._/".contains($0) } ?? true
        }
    }

    private static func stem(ofGGUF path: String) -> Stem {
        let text = path.dropLast(gguf.count).lowercased()
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        func isNumber(_ text: Substring) -> Bool {
            text.utf8.count == 5 && text.allSatisfy { $0.isASCII && $0.isNumber }
        }
        guard parts.count > 3, parts[parts.count - 2] == "of", isNumber(parts[parts.count - 1]),
            isNumber(parts[parts.count - 3])
        else { return Stem(text: text) }
        return Stem(text: parts.dropLast(3).joined(separator: "-"))
    }

    private static let configurationNames: Set = [
        "config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json",
        "video_preprocessor_config.json", "adapter_config.json", "quantize_config.json", "quant_config.json",
        "quanto_qmap.json", "hf_quant_config.json", "modules.json", "sentence_bert_config.json",
        "config_sentence_transformers.json",
    ]

    private static func isConfiguration(_ path: String) -> Bool {
        configurationNames.contains(path) || isModuleFile(path, named: "config.json")
    }

    /// Returns whether a path is a file in a folder such as `1_Pooling`.
    private static func isModuleFile(_ path: String, named name: String) -> Bool {
        let parts = path.split(separator: "/")
        guard parts.count == 2, parts[1] == name else { return false }
        let number = parts[0].prefix { $0.isASCII && $0.isNumber }
        return !number.isEmpty && parts[0].dropFirst(number.count).first == "_"
    }

    private static let textNames: Set = [
        "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json",
        "vocab.json", "vocab.txt", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "spm.model",
        "normalizer.json", "tekken.json", "chat_template.json", "chat_template.jinja",
    ]

    private static func isText(_ path: String) -> Bool {
        let isTemplate = ["additional_chat_templates/", "chat_templates/"].contains(where: path.hasPrefix)
        return textNames.contains(path) || isTemplate && path.hasSuffix(".jinja")
    }

    /// Returns the shards that an index lists.
    /// - Throws: `HubError` (`unexpectedAnswer`) if the index is damaged, or names anything but safetensors files beside it.
    static func shards(ofIndex path: String, named name: String, _ reference: HubReference) throws(HubError) -> [String]
    {
        do {
            let map = JSONField(try JSON.read(path), file: name)["weight_map"]
            let shards = Set(try map.members().map { try $0.field.string() })
            for shard in shards where !HubName.isPath(shard) || shard.contains("/") || !shard.hasSuffix(safetensors) {
                throw map.error("expected names of safetensors files, found \"\(shard)\"")
            }
            guard !shards.isEmpty else { throw map.error("expected names of safetensors files") }
            return shards.sorted()
        } catch {
            throw HubError(.unexpectedAnswer, subject: "\(reference)", location: name, found: "\(error)")
        }
    }
}
