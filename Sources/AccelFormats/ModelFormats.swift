import AccelByteIO
import AccelTensors

/// The registry of formats. A new one is a folder and a line here.
public enum ModelFormats {
    public static let all: [any ModelFormat.Type] = [
        AcceleratorPackageFormat.self,
        CoreMLFormat.self,
        HuggingFaceFormat.self,
        WeightsFormat.self,
    ]

    /// The format of what stands at a path, by its content.
    public static func recognising(_ path: String) -> (any ModelFormat.Type)? {
        all.first { $0.recognises(path) }
    }

    /// The format that a path says it has: what stands there may be too broken to be recognised, or missing.
    public static func named(by path: String) -> (any ModelFormat.Type)? {
        let name = Files.trimmingSlashes(path)
        return all.first { $0.suffixes.contains(where: name.hasSuffix) }
    }

    /// Opens a model, whatever its format.
    /// - Parameter model: a path, or a name as Hugging Face's hub has it: `hf:OWNER/NAME[@REV]`.
    /// - Throws: `FormatError` for a model that is corrupt, `RequestError` for one that is missing.
    public static func open(_ model: String, _ options: OpeningOptions = OpeningOptions()) throws -> any ModelSource {
        let path = Files.trimmingSlashes(model)
        let format = recognising(path) ?? named(by: path) ?? HuggingFaceFormat.self
        return try format.open(format == HuggingFaceFormat.self ? model : path, options)
    }
}
