import AccelByteIO
public import AccelCalibration
public import AccelFormats
import AccelPrograms
import AccelTensors

/// Inputs for a comparison: a safetensors file, or tensors that were made of a text.
public struct InputFile: Sendable {
    /// The path, for reports and errors.
    public let path: String
    private let made: [StoredTensor]?
    /// A sentence on the part of a text that is not used; nil for none.
    public let remark: String?

    /// A safetensors file, which is read when it is needed.
    public init(_ path: String) { (self.path, made, remark) = (path, nil, nil) }

    /// Samples of a text, made by the tokenizer of a model or package.
    /// - Throws: `RequestError` if the model has no tokenizer, or takes no tokens.
    public init(_ text: TextSamples, for source: any ModelSource) throws {
        let samples = try text.made(for: source.model().programs.map(\.interface), by: source.textFrontEnd())
        (path, made, remark) = (text.path, samples.tensors, samples.remark)
    }

    /// The tensors.
    /// - Throws: `FormatError` for a damaged file; `RequestError` if it cannot be read.
    func tensors() throws -> [StoredTensor] {
        try made ?? SafetensorsFile(path).tensors
    }
}
