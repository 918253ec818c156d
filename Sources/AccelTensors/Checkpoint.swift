public import AccelByteIO

/// A model in the layout of Hugging Face: configuration, weights in one or more safetensors files, and other files.
public struct Checkpoint: Sendable {
    /// Opens the model's files, and records which were opened.
    public let reader: ModelFiles
    /// The model folder, or the folder of the single file.
    public var folder: String { reader.folder }
    /// The content of config.json; a missing field if there is none.
    public private(set) var configuration: JSONField
    /// The path of a configuration that the user named in place of the folder's; nil for the folder's own.
    package private(set) var namedConfiguration: String?
    /// The paths of fields that the user asked to ignore.
    public private(set) var ignoredFields: [String] = []
    /// The other JSON files of a model whose file states all of it; nil for those of the folder.
    private var documents: [String: JSON]?
    /// The quantized weights were decoded: files beside them that describe the quantization may stay.
    package private(set) var isDecoded = false
    /// The weight files, sorted by name, without those of modules after the transformer.
    public let files: [SafetensorsFile]
    /// All tensors, sorted by name. Those of a module after the transformer begin with its folder, such as `2_Dense.linear.weight`.
    public private(set) var tensors: [StoredTensor]
    /// The files that packages pass through: tokenizer, configurations and every other file that was read. Sorted by
    /// name.
    public var assets: [ModelFiles.Source] { reader.sources.filter { $0.role == .asset } }

    /// Opens a model.
    /// - Parameter model: a folder, a .safetensors file (with `configuration` as the path of its config.json),
    ///   `hf:OWNER/NAME[@REV]`, or `OWNER/NAME` if no such folder exists.
    /// - Throws: `RequestError` (unavailable) if there is no such model on this machine; `FormatError` if one of its
    ///   files is not valid.
    public init(model: String, configuration: String? = nil) throws {
        try self.init(model: model, configuration: configuration, others: [:])
    }

    /// - Parameter others: the paths of files outside of the folder, by their names as sources.
    init(model: String, configuration: String?, others: [String: String]) throws {
        let path = try ModelLocation.resolve(model)
        let isFolder = Files.kind(of: path) == .folder
        let folder = isFolder ? Files.trimmingSlashes(path) : Files.parentFolder(of: path) ?? "."
        var substitutes = others
        if let configuration { substitutes["config.json"] = configuration }
        reader = ModelFiles(in: folder, substitutes: substitutes)
        files = try isFolder ? reader.weightFiles() : reader.weightFiles(at: path)
        tensors = try (files.flatMap(\.tensors) + (isFolder ? reader.moduleTensors() : [])).sorted { $0.name < $1.name }
        namedConfiguration = configuration
        let (document, file) = (try reader.document("config.json"), reader.path(of: "config.json"))
        if document == nil, let problem = Files.brokenLink(file) { throw RequestError(problem, status: .unavailable) }
        self.configuration = document ?? JSONField(nil, file: file)
        try reader.openAssets()
    }

    /// Returns the same model with a configuration that records which fields are read.
    public func recording() -> Checkpoint {
        var copy = self
        copy.configuration = configuration.recording()
        return copy
    }

    /// Returns the same model without some fields of its JSON files.
    /// - Parameter fields: paths as in errors, such as `text_config.dropout` of config.json, or
    ///   `1_Pooling/config.json:include_prompt`.
    /// - Throws: `RequestError` for a field that does not exist; `FormatError`.
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

    /// Returns a document without the ignored fields.
    private func withoutIgnored(_ document: JSONField, of name: String) -> JSONField {
        ignoredFields.filter { $0.hasPrefix("\(name):") }.reduce(document) {
            $0.removing(String($1.dropFirst(name.count + 1))) ?? $0
        }
    }

    /// Returns the same model with other tensors and another configuration, as decoded from its files.
    /// - Parameter documents: the other JSON files, in place of those of the folder; nil for these.
    package func replacing(
        tensors: [StoredTensor], configuration: JSONField, documents: [String: JSON]? = nil
    ) -> Checkpoint {
        var copy = replacing(tensors: tensors)
        copy.configuration = configuration
        copy.documents = documents
        copy.isDecoded = true
        return copy
    }

    /// Returns the same model with other tensors.
    func replacing(tensors: [StoredTensor]) -> Checkpoint {
        var copy = self
        copy.tensors = tensors.sorted { $0.name < $1.name }
        return copy
    }

    /// Creates a model in memory.
    package init(folder: String, configuration: JSONField, files: [SafetensorsFile]) {
        reader = ModelFiles(in: folder)
        self.configuration = configuration
        self.files = files
        tensors = files.flatMap(\.tensors).sorted { $0.name < $1.name }
    }

    /// Creates a model without tensors.
    /// - Parameter reader: opens the files of its folder.
    package init(reading reader: ModelFiles, configuration: JSONField) {
        self.reader = reader
        self.configuration = configuration
        (files, tensors) = ([], [])
    }

    /// The tensor of a name; nil if there is none. Takes logarithmic time.
    public subscript(name: String) -> StoredTensor? {
        var (low, high) = (0, tensors.count)
        while low < high {
            let middle = (low + high) / 2
            if tensors[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low < tensors.count && tensors[low].name == name ? tensors[low] : nil
    }

    /// Returns a JSON file of the folder, such as `1_Pooling/config.json`, and records it as a source; nil if it does
    /// not exist.
    /// - Throws: `FormatError` if `name`, which may come from another file of the model, points outside of the folder.
    public func document(_ name: String) throws -> JSONField? {
        if name == "config.json" { return configuration.exists ? configuration : nil }
        if let documents { return documents[name].map { JSONField($0, file: "\(configuration.file), \(name)") } }
        return try reader.document(name).map { withoutIgnored($0, of: name) }
    }
}

/// Returns whether a relative path from a file stays inside its folder.
public func isRelativeInside(_ path: String) -> Bool {
    !path.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\\") })
        && path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
}
