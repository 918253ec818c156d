import AccelByteIO
public import AccelModelFamilies
public import AccelPackages
public import AccelTensors

/// A model as Hugging Face ships it: config.json with weights in safetensors files, read by a family.
public enum HuggingFaceFormat: ModelFormat {
    public static let name = "huggingface"
    public static let title = "a model"
    public static let takesConfiguration = true
    private static let indexSuffix = ".safetensors.index.json"
    public static let suffixes = [indexSuffix]

    public static func recognises(_ path: String) -> Bool {
        switch Files.kind(of: path) {
        case .folder?:
            guard !CoreMLFormat.recognises(path), !AcceleratorPackageFormat.recognises(path) else { return false }
            let names = (try? Files.list(path)) ?? []
            return names.contains { $0 == "config.json" || $0.hasSuffix(indexSuffix) }
        case .file?:
            // The file that says which shard holds which tensor.
            guard let index = try? JSON.read(path) else { return false }
            return JSONField(index, file: path)["weight_map"].exists
        default: return false
        }
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        guard options.interfaces == nil else {
            throw RequestError("\(path): its family knows what its ports mean: leave --interface out")
        }
        return HuggingFaceModel(
            try Checkpoint(model: path, configuration: options.configuration).ignoring(options.ignoredFields),
            path: path, isConfigured: options.configuration != nil)
    }
}

/// A checkpoint as a source.
public struct HuggingFaceModel: ModelSource {
    public let checkpoint: Checkpoint
    public let path: String
    /// Its config.json was named.
    public let isConfigured: Bool

    public let format: any ModelFormat.Type

    public init(
        _ checkpoint: Checkpoint, path: String, isConfigured: Bool = false,
        format: any ModelFormat.Type = HuggingFaceFormat.self
    ) {
        (self.checkpoint, self.path, self.isConfigured) = (checkpoint, path, isConfigured)
        self.format = format
    }

    /// Whether nothing says what its tensors mean: a file of tensors is all there is.
    public var isTensorsOnly: Bool {
        let isOneFile = Files.kind(of: path) == .file && !path.hasSuffix(".json")
        return !isConfigured && (isOneFile || !checkpoint.configuration.exists && checkpoint.files.count == 1)
    }
    public var abilities: Set<SourceAbility> { isTensorsOnly ? [] : [.shapes, .tensors, .graph] }
    public var remarks: [String] { checkpoint.remarks }
    public var files: ModelFiles { checkpoint.reader }
    public var assets: [Asset] { checkpoint.assets.map { Asset(name: $0.name, content: $0.content) } }
    public var weights: [SourceWeight] { checkpoint.tensors.map { SourceWeight($0) } }
    /// - Throws: `FormatError` and `RequestError` for a configuration that no family reads.
    public var family: any ModelFamily { get throws { try Families.matching(checkpoint.configuration) } }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        let family = try family
        // What one package asks for another may not have: a difference, and no error.
        let asked = allowsIdlePatterns ? parts.filter(family.parts.contains) : parts
        return SourceModel(
            try family.model(
                for: checkpoint, parts: asked, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns),
            by: family)
    }
}
