public import AccelByteIO

/// The files of an adapter, a folder as peft saves it: `adapter_config.json` and `adapter_model.safetensors`.
public struct AdapterFiles: Sendable {
    /// The name of the description.
    public static let configurationName = "adapter_config.json"
    /// The name of the weight file.
    public static let weightsName = "adapter_model.safetensors"

    /// The folder.
    public let folder: String
    /// The content of adapter_config.json.
    public let configuration: JSONField
    /// All tensors, in the order of their names.
    public let tensors: [StoredTensor]
    /// The opened files.
    public let reader: ModelFiles

    /// Opens an adapter on its own.
    /// - Parameter path: a folder, or a model of the local hub cache.
    /// - Throws: `RequestError` (unavailable) if there is no adapter; `FormatError` if a file is not valid.
    public init(_ path: String) throws {
        let folder = try Self.folder(of: path)
        try self.init(in: folder, as: "", of: ModelFiles(in: folder))
    }

    /// Returns the folder that the name of an adapter refers to.
    fileprivate static func folder(of path: String) throws -> String {
        let form = "an adapter is a folder with \(configurationName) and \(weightsName), or hf:OWNER/NAME"
        return Files.trimmingSlashes(try ModelLocation.resolve(path, form: form))
    }

    /// An adapter in memory.
    /// - Parameter folder: the folder that errors name.
    package init(folder: String, configuration: JSONField, tensors: [StoredTensor]) {
        (self.folder, self.configuration) = (folder, configuration)
        self.tensors = tensors.sorted { $0.name < $1.name }
        reader = ModelFiles(in: folder)
    }

    /// Opens an adapter whose files are sources of a model.
    /// - Parameters:
    ///   - prefix: the folder in the names of the sources, with a slash at its end; empty for none.
    ///   - reader: the files of the model; opens the adapter's files under these names.
    fileprivate init(in folder: String, as prefix: String, of reader: ModelFiles) throws {
        if Files.kind(of: folder) == .file {
            throw RequestError(
                "\(folder) is a file; expected the adapter's folder, such as \(Files.parentFolder(of: folder) ?? ".")")
        }
        for name in [Self.configurationName, Self.weightsName] where Files.kind(of: "\(folder)/\(name)") != .file {
            let pickle = Files.kind(of: "\(folder)/adapter_model.bin") == .file && name == Self.weightsName
            throw RequestError(
                pickle
                    ? "\(folder) has its tensors in adapter_model.bin only, a Python pickle, which is never read: save the "
                        + "adapter again, with safetensors"
                    : "\(folder) is no adapter: it has no \(name)", status: .unavailable)
        }
        let source = try reader.open(prefix + Self.configurationName, as: .adapter)
        let document = JSONField(try JSON.parse(source.content, file: source.path), file: source.path)
        let file = try reader.weights(prefix + Self.weightsName)
        (self.folder, self.reader) = (folder, reader)
        configuration = document
        tensors = file.tensors.sorted { $0.name < $1.name }
    }
}

extension Checkpoint {
    /// Opens a model with adapters, whose files become sources of the model.
    /// - Parameter adapters: the folder of each adapter, and the folder of its files in the names of the sources.
    /// - Throws: as for a model, and as for an adapter.
    public static func opening(
        model: String, configuration: String?, adapters: [(path: String, name: String)]
    ) throws -> (checkpoint: Checkpoint, adapters: [AdapterFiles]) {
        let folders = try adapters.map { try AdapterFiles.folder(of: $0.path) }
        var others: [String: String] = [:]
        for (folder, adapter) in zip(folders, adapters) {
            for name in [AdapterFiles.configurationName, AdapterFiles.weightsName] {
                others["\(adapter.name)/\(name)"] = "\(folder)/\(name)"
            }
        }
        let checkpoint = try Checkpoint(model: model, configuration: configuration, others: others)
        let opened = try zip(folders, adapters).map {
            try AdapterFiles(in: $0, as: "\($1.name)/", of: checkpoint.reader)
        }
        return (checkpoint, opened)
    }

    /// Returns the same model with some tensors changed and others added.
    package func changing(_ changed: [StoredTensor]) -> Checkpoint {
        let names = Set(changed.map(\.name))
        return replacing(tensors: tensors.filter { !names.contains($0.name) } + changed)
    }
}
