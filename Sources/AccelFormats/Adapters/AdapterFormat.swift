package import AccelByteIO
import AccelPackages
public import AccelTensors

/// Adapters of peft, each a folder with `adapter_config.json`. They are no models: `--adapter` merges them into one.
public enum AdapterFormat: ModelFormat {
    public static let name = "adapter"
    public static let title = "an adapter"

    public static func recognises(_ path: String) -> Bool {
        guard Files.kind(of: path) == .folder else { return false }
        let names = (try? Files.list(path)) ?? []
        return names.contains(AdapterFiles.configurationName) && !names.contains("config.json")
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        return try AdapterSource(path)
    }
}

/// An adapter by itself: its tensors can be listed, but it has no functions.
public struct AdapterSource: ModelSource {
    public let path: String
    /// The files of the adapter.
    public let adapter: AdapterFiles

    /// Opens an adapter, of any type.
    /// - Throws: as `AdapterFiles.init`
    init(_ path: String) throws {
        self.path = path
        adapter = try AdapterFiles(path)
        // An object, so that a file of anything else is rejected at once.
        _ = try adapter.configuration.object()
    }

    public var format: any ModelFormat.Type { AdapterFormat.self }
    public var abilities: Set<SourceAbility> { [.tensors] }
    public var files: ModelFiles { adapter.reader }
    public var weights: [SourceWeight] { adapter.tensors.map { SourceWeight($0) } }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        let base = try? adapter.configuration["base_model_name_or_path"].string()
        throw RequestError(
            Diagnostic(
                "\(path) is an adapter, not a model", code: .adapterNotModel, subject: path,
                candidates: [base].compactMap(\.self)))
    }
}

extension Diagnostic.Code {
    /// An adapter stands in place of its model. The subject is the adapter's path, and the candidate its model's name.
    package static let adapterNotModel: Self = "adapter-not-model"
}
