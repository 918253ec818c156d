import AccelByteIO
public import AccelModelFamilies
public import AccelPackages
public import AccelTensors

/// A Hugging Face checkpoint: config.json with weights in safetensors files. A model family builds the programs.
public enum HuggingFaceFormat: ModelFormat {
    public static let name = "huggingface"
    public static let title = "a model"
    public static let takesConfiguration = true
    public static let takesAdapters = true
    private static let indexSuffix = ".safetensors.index.json"
    public static let suffixes = [indexSuffix]

    public static func recognises(_ path: String) -> Bool {
        switch Files.kind(of: path) {
        case .folder?:
            let names = (try? Files.list(path)) ?? []
            return !MLXFormat.recognises(path) && !CTranslate2Format.recognises(path)
                && names.contains { $0 == "config.json" || $0.hasSuffix(indexSuffix) }
        case .file?:
            // The index of a sharded checkpoint: it maps tensors to files.
            guard let index = try? JSON.read(path) else { return false }
            return JSONField(index, file: path)["weight_map"].exists
        default: return false
        }
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try open(path, options, as: Self.self)
    }

    /// Opens a checkpoint of a format: that of Hugging Face, or of MLX, whose unquantized models look the same.
    static func open(
        _ path: String, _ options: OpeningOptions, as format: any ModelFormat.Type
    ) throws -> any ModelSource {
        try options.rejectInterfaces("\(path): the roles of its ports are those of its family")
        let requests = options.adapters.enumerated().map { (path: $1.folder, name: $1.sourceFolder($0)) }
        let (opened, files) = try Checkpoint.opening(
            model: path, configuration: options.configuration, adapters: requests)
        let checkpoint = try opened.ignoring(options.ignoredFields)
        let isConfigured = options.configuration != nil
        let source: any CheckpointSource =
            try QuantizedSource(
                checkpoint, path: path, isConfigured: isConfigured, format: format,
                layout: MLXFormat.layout(of: checkpoint))
            ?? HuggingFaceModel(checkpoint, path: path, isConfigured: isConfigured, format: format)
        guard !files.isEmpty else { return source }
        let adapters = try zip(options.adapters, files).enumerated().map { index, adapter in
            let name = "\(requests[index].name)/\(AdapterFiles.configurationName)"
            return try Adapter(adapter.0, adapter.1, configuration: checkpoint.document(name))
        }
        return try AdaptedModel(source, adapters)
    }
}

/// A Hugging Face checkpoint as a source.
public struct HuggingFaceModel: CheckpointSource {
    /// The open checkpoint.
    public let checkpoint: Checkpoint
    /// The path or hub name of the request.
    public let path: String
    /// Whether the request names a config.json.
    public let isConfigured: Bool

    /// The format that opened the checkpoint.
    public let format: any ModelFormat.Type

    /// A source of an open checkpoint.
    public init(
        _ checkpoint: Checkpoint, path: String, isConfigured: Bool = false,
        format: any ModelFormat.Type = HuggingFaceFormat.self
    ) {
        (self.checkpoint, self.path, self.isConfigured) = (checkpoint, path, isConfigured)
        self.format = format
    }

    /// Whether the source is a file of tensors without a configuration, so that it has no functions.
    public var isTensorsOnly: Bool {
        let isOneFile = Files.kind(of: path) == .file && !path.hasSuffix(".json")
        return !isConfigured && (isOneFile || !checkpoint.configuration.exists && checkpoint.files.count == 1)
    }
    public var abilities: Set<SourceAbility> { isTensorsOnly ? [.tensors] : [.shapes, .tensors, .graph] }
    public var remarks: [String] { checkpoint.remarks }
    public var files: ModelFiles { checkpoint.reader }
    public var assets: [Asset] { checkpoint.assets.map { Asset(name: $0.name, content: $0.content) } }
    public var weights: [SourceWeight] { checkpoint.tensors.map { SourceWeight($0) } }
    /// The model family of the configuration.
    /// - Throws: `FormatError` and `RequestError` if no family supports the configuration.
    public var family: any ModelFamily { get throws { try Families.matching(checkpoint.configuration) } }

    var configuration: JSONField { checkpoint.configuration }
    func decodedCheckpoint() throws -> Checkpoint { checkpoint }

    func model(
        of checkpoint: Checkpoint, changed: Set<String>, parts: [String], ignoredTensors: [String],
        allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try HuggingFaceModel(checkpoint, path: path, isConfigured: isConfigured)
            .model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns)
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        let family = try family
        // In a comparison the other model may lack parts: that is a difference, not an error.
        let asked = allowsIdlePatterns ? parts.filter(family.nameableParts.contains) : parts
        return SourceModel(
            try family.model(
                for: checkpoint, parts: asked, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns),
            by: family)
    }
}
