public import AccelByteIO

/// A model as Hugging Face ships it: configuration, weights in one or more safetensors files, and what goes with them.
public struct Checkpoint: Sendable {
    /// What opens the model's files, and keeps account of them.
    public let reader: ModelFiles
    /// The model folder, or the folder of the single file.
    public var folder: String { reader.folder }
    /// config.json; a missing field when there is none.
    public private(set) var configuration: JSONField
    /// Fields of its JSON files that count as if they were not there, because the user has said so.
    public private(set) var ignoredFields: [String] = []
    /// The weight files, in the order of their names.
    public let files: [SafetensorsFile]
    /// All tensors, sorted by name.
    public let tensors: [StoredTensor]
    /// The files beside the weights that a package passes through: tokenizer, configurations, whatever was read. Sorted by name.
    public var assets: [ModelFiles.Source] { reader.sources.filter { $0.role == .asset } }

    /// - Parameter model: a folder, a .safetensors file (with `configuration` naming its config.json),
    ///   `hf:OWNER/NAME[@REV]`, or `OWNER/NAME` where there is no such folder.
    /// - Throws: `RequestError` (unavailable) when there is no such model here, `FormatError` when a file of it is not
    ///   what it should be.
    public init(model: String, configuration: String? = nil) throws {
        let path = try ModelLocation.resolve(model)
        let isFolder = Files.kind(of: path) == .folder
        let folder = isFolder ? Files.trimmingSlashes(path) : Files.parentFolder(of: path) ?? "."
        reader = ModelFiles(in: folder, substitutes: configuration.map { ["config.json": $0] } ?? [:])
        files = try isFolder ? reader.weightFiles() : reader.weightFiles(at: path)
        tensors = files.flatMap(\.tensors).sorted { $0.name < $1.name }
        self.configuration =
            try reader.document("config.json") ?? JSONField(nil, file: reader.path(of: "config.json"))
        try reader.openAssets()
    }

    /// The same model, whose configuration notes what is asked of it from now on.
    public func recording() -> Checkpoint {
        var copy = self
        copy.configuration = configuration.recording()
        return copy
    }

    /// The same model, as if fields of its JSON files were not there.
    /// - Parameter fields: paths as errors print them, e.g. `text_config.dropout` in config.json, or
    ///   `1_Pooling/config.json:include_prompt`.
    /// - Throws: `RequestError` for a field that is not there; `FormatError`.
    public func ignoring(_ fields: [String]) throws -> Checkpoint {
        var copy = self
        for field in fields {
            let parts = field.split(separator: ":", maxSplits: 1).map(String.init)
            let (name, path) = parts.count == 2 ? (parts[0], parts[1]) : ("config.json", field)
            guard let rest = try copy.document(name)?.removing(path) else {
                throw RequestError("\(folder)/\(name) has no field \(quoted(path)) to ignore")
            }
            if name == "config.json" { copy.configuration = rest }
            copy.ignoredFields.append(field)
        }
        return copy
    }

    /// `document` of a file without the fields that are to be ignored.
    private func withoutIgnored(_ document: JSONField, of name: String) -> JSONField {
        ignoredFields.filter { $0.hasPrefix("\(name):") }.reduce(document) {
            $0.removing(String($1.dropFirst(name.count + 1))) ?? $0
        }
    }

    /// A model in memory.
    package init(folder: String, configuration: JSONField, files: [SafetensorsFile]) {
        reader = ModelFiles(in: folder)
        self.configuration = configuration
        self.files = files
        tensors = files.flatMap(\.tensors).sorted { $0.name < $1.name }
    }

    public subscript(name: String) -> StoredTensor? {
        var (low, high) = (0, tensors.count)
        while low < high {
            let middle = (low + high) / 2
            if tensors[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low < tensors.count && tensors[low].name == name ? tensors[low] : nil
    }

    /// A JSON file of the folder, e.g. `1_Pooling/config.json`; nil when there is none. It is one of the sources then.
    /// - Throws: `FormatError` when `name` (which may come from another file of the model) leads out of the folder.
    public func document(_ name: String) throws -> JSONField? {
        if name == "config.json" { return configuration.exists ? configuration : nil }
        return try reader.document(name).map { withoutIgnored($0, of: name) }
    }
}

/// Whether a path that a file gives stays inside of the folder it is relative to.
public func isRelativeInside(_ path: String) -> Bool {
    !path.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\\") })
        && path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
}
