public import ByteIO

/// A model as Hugging Face ships it: configuration, weights in one or more safetensors files, and what goes with them.
public struct Checkpoint: Sendable {
    /// A file beside the weights that a package passes through (tokenizer, configs), with its path relative to the folder.
    public struct Asset: Sendable {
        public let name: String
        public let path: String
    }
    /// The model folder, or the folder of the single file.
    public let folder: String
    /// config.json; a missing field when there is none.
    public let configuration: JSONField
    /// The weight files, in the order of their names.
    public let files: [SafetensorsFile]
    /// All tensors, sorted by name.
    public let tensors: [StoredTensor]
    /// Sorted by name.
    public let assets: [Asset]

    /// - Parameter model: a folder, a .safetensors file (with `configuration` naming its config.json),
    ///   `hf:OWNER/NAME[@REV]`, or `OWNER/NAME` where there is no such folder.
    /// - Throws: `RequestError` (unavailable) when there is no such model here, `FormatError` when a file of it is not
    ///   what it should be.
    public init(model: String, configuration: String? = nil) throws {
        let path = try ModelLocation.resolve(model)
        let isFolder = Files.kind(of: path) == .folder
        let folder = isFolder ? Files.trimmingSlashes(path) : Files.parentFolder(of: path) ?? "."
        self.folder = folder

        if isFolder {
            files = try WeightFiles.open(inFolder: folder)
        } else if path.hasSuffix(".safetensors.index.json") {
            files = try WeightFiles.openShards(index: path)
        } else {
            files = [try WeightFiles.open(file: path)]
        }
        tensors = files.flatMap(\.tensors).sorted { $0.name < $1.name }

        let configurationPath = configuration ?? "\(folder)/config.json"
        let hasConfiguration = configuration != nil || Files.kind(of: configurationPath) != nil
        self.configuration = JSONField(
            hasConfiguration ? try JSON.read(configurationPath) : nil, file: configurationPath)
        var assets = try Asset.all(in: folder)
        if let configuration {
            assets.removeAll { $0.name == "config.json" }
            assets.append(Asset(name: "config.json", path: configuration))
        }
        self.assets = assets.sorted { $0.name < $1.name }
    }

    /// A model in memory.
    package init(folder: String, configuration: JSONField, files: [SafetensorsFile]) {
        self.folder = folder
        self.configuration = configuration
        self.files = files
        tensors = files.flatMap(\.tensors).sorted { $0.name < $1.name }
        assets = []
    }

    public subscript(name: String) -> StoredTensor? {
        var (low, high) = (0, tensors.count)
        while low < high {
            let middle = (low + high) / 2
            if tensors[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low < tensors.count && tensors[low].name == name ? tensors[low] : nil
    }

    /// A JSON file of the folder, e.g. `1_Pooling/config.json`; nil when there is none.
    /// - Throws: `FormatError` when `name` (which may come from another file of the model) leads out of the folder.
    public func document(_ name: String) throws -> JSONField? {
        if name == "config.json" { return configuration.exists ? configuration : nil }
        guard isRelativeInside(name) else {
            throw FormatError(file: folder, reason: "the path \(quoted(name)) leads out of the model's folder")
        }
        let path = "\(folder)/\(name)"
        return Files.kind(of: path) == nil ? nil : JSONField(try JSON.read(path), file: path)
    }
}

extension Checkpoint.Asset {
    private static let names: Set<String> = [
        "added_tokens.json", "chat_template.jinja", "chat_template.json", "config.json",
        "config_sentence_transformers.json", "generation_config.json", "merges.txt", "modules.json", "normalizer.json",
        "preprocessor_config.json", "processor_config.json", "sentence_bert_config.json", "special_tokens_map.json",
        "vocab.json", "vocab.txt",
    ]

    /// The largest tokenizers that are known have 40 MB.
    private static let mostBytes: Int64 = 256 << 20

    static func all(in folder: String) throws -> [Checkpoint.Asset] {
        var found = try Files.list(folder).filter { name in
            names.contains(name) || name.hasSuffix(".model") || (name.hasPrefix("tokenizer") && name.hasSuffix(".json"))
        }
        found.append("1_Pooling/config.json")
        let assets = found.map { Checkpoint.Asset(name: $0, path: "\(folder)/\($0)") }.filter {
            Files.kind(of: $0.path) == .file
        }
        for asset in assets {
            guard let size = Files.identity(of: asset.path)?.size, size > mostBytes else { continue }
            throw FormatError(
                file: asset.path,
                reason: "has \(size) bytes; of a file beside the weights at most \(mostBytes) are taken into a package")
        }
        return assets
    }
}

/// Whether a path that a file gives stays inside of the folder it is relative to.
public func isRelativeInside(_ path: String) -> Bool {
    !path.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\\") })
        && path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
}
