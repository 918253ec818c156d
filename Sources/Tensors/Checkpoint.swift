public import ByteIO

/// A model as Hugging Face ships it: configuration, weights in one or more safetensors files, and what goes with them.
public struct Checkpoint: Sendable {
    /// A file beside the weights that a package passes through (tokenizer, configs), with its path relative to the folder.
    public struct Asset: Sendable {
        public let name: String
        public let path: String
    }
    /// The model folder, or the folder of the single file.
    public let folder: String
    /// config.json
    public let configuration: JSONField
    /// The weight files, in the order of their names.
    public let files: [SafetensorsFile]
    /// All tensors, sorted by name.
    public let tensors: [StoredTensor]
    public let assets: [Asset]

    /// - Parameter model: a folder, a .safetensors file (with `configuration` naming its config.json), or `hf:OWNER/NAME[@REV]`.
    public init(model: String, configuration: String? = nil) throws { fatalError("helper") }
    public subscript(name: String) -> StoredTensor? { fatalError("helper") }
    /// A JSON file of the folder, e.g. `1_Pooling/config.json`; nil when there is none.
    public func document(_ name: String) throws -> JSONField? { fatalError("helper") }
}
