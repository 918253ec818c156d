import AccelByteIO
import AccelTensors

/// The registry of formats. A new format is a folder beside this file and a line here.
public enum ModelFormats {
    /// All formats, in the order in which they are tried.
    public static let all: [any ModelFormat.Type] = [
        AcceleratorPackageFormat.self,
        CoreMLFormat.self,
        CoreAIFormat.self,
        MLXFormat.self,
        CTranslate2Format.self,
        GGUFFormat.self,
        WhisperCPPFormat.self,
        HuggingFaceFormat.self,
        AdapterFormat.self,
        WeightsFormat.self,
    ]

    /// Returns the format of the content at a path; nil if no format recognises it.
    public static func recognising(_ path: String) -> (any ModelFormat.Type)? {
        all.first { $0.recognises(path) }
    }

    /// Returns the format by the suffix of a path, for models that are missing or too corrupt to be recognised.
    public static func named(by path: String) -> (any ModelFormat.Type)? {
        let name = Files.trimmingSlashes(path)
        return all.first { $0.suffixes.contains(where: name.hasSuffix) }
    }

    /// Opens a model of any format.
    /// - Parameters:
    ///   - model: a path, or a model of the Hugging Face hub: `hf:OWNER/NAME[@REV]`.
    ///   - options: information that the model's files lack.
    /// - Throws: `FormatError` if the model is corrupt, `RequestError` if it is missing or does not support an option.
    public static func open(_ model: String, _ options: OpeningOptions = OpeningOptions()) throws -> any ModelSource {
        let path = Files.trimmingSlashes(model)
        let format = recognising(path) ?? named(by: path) ?? HuggingFaceFormat.self
        guard options.adapters.isEmpty || format.takesAdapters else {
            throw RequestError(
                "\(path) is \(format.title), into which no adapter is merged: name the checkpoint that it was made of")
        }
        return try format.open(format == HuggingFaceFormat.self ? model : path, options)
    }
}
