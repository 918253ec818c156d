import AccelByteIO
import AccelTensors

/// Weights without a model: a safetensors file, or a folder with one and without a config.json. The source has functions only
/// if the request names a configuration.
public enum WeightsFormat: ModelFormat {
    public static let name = "weights"
    public static let title = "weights without a configuration"
    public static let takesConfiguration = true

    public static func recognises(_ path: String) -> Bool {
        switch Files.kind(of: path) {
        case .file?:
            // A safetensors file starts with the header's length in 8 bytes, then the header, a JSON object. The two highest bytes
            // of the length are 0.
            let start = (try? MappedFile(path).bytes).map { $0[0..<min($0.count, 16)].withBytes { Array($0) } } ?? []
            return start.count > 8 && start[8] == UInt8(ascii: "{") && start[6] == 0 && start[7] == 0
        case .folder?:
            let names = (try? Files.list(path)) ?? []
            // A folder with JSON files is not this format: recorded inputs and outputs, for example, have a list of files.
            return names.allSatisfy { !$0.hasSuffix(".json") } && names.count { $0.hasSuffix(".safetensors") } == 1
        default: return false
        }
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        guard options.configuration == nil else { return try HuggingFaceFormat.open(path, options) }
        try options.rejectInterfaces("\(path) has no functions whose ports could have roles")
        let checkpoint = try Checkpoint(model: path).ignoring(options.ignoredFields)
        return HuggingFaceModel(checkpoint, path: path, format: self)
    }
}
