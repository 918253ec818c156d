import AccelByteIO
import AccelPrograms
import AccelTensors

/// A dense layer after the pooling of a sentence encoder, with weights in a folder of its own.
struct SentenceDense {
    /// The functions by the names of their classes in torch.nn; nil for none.
    private static let activations: [String: (any Operator)?] = [
        "ELU": Elu(alpha: 1), "GELU": Gelu(.erf), "Identity": nil, "ReLU": Relu(), "SiLU": Silu(), "Sigmoid": Sigmoid(),
        "Tanh": Tanh(),
    ]
    private let folder: String
    let inputs: (number: Int, field: JSONField)
    let outputs: Int
    private let isBiased: Bool
    private let activation: (any Operator)?

    /// Reads the layer's configuration.
    /// - Parameter path: the field that names its folder.
    /// - Throws: `FormatError`; `RequestError` (unavailable) for an unsupported layer, and for weights in a pickle.
    init(at path: JSONField, of checkpoint: Checkpoint) throws {
        folder = try path.string()
        guard let config = try checkpoint.document("\(folder)/config.json")?.recording() else {
            throw path.error("the model has no file \(folder)/config.json")
        }
        let pickle = "\(folder)/pytorch_model.bin"
        if checkpoint["\(folder).linear.weight"] == nil, Files.kind(of: "\(checkpoint.folder)/\(pickle)") == .file {
            throw RequestError(
                "\(checkpoint.folder)/\(pickle) is a Python pickle, which is never read", status: .unavailable,
                code: .pickledWeights)
        }
        let sizes = 1...1 << 20
        inputs = (try config["in_features"].int(in: sizes), config["in_features"])
        outputs = try config["out_features"].int(in: sizes)
        isBiased = try config["bias"].bool(default: true)
        activation = try Self.activation(config["activation_function"])
        let name = "sentence_embedding"
        try config.reject([
            ("module_input_name", try config["module_input_name"].string(default: name) != name, "another input"),
            ("module_output_name", try config["module_output_name"].string(default: name) != name, "another output"),
            ("use_residual", try config["use_residual"].bool(default: false), "a residual connection"),
        ])
        try config.rejectUnread([]) { "\(folder)/config.json:\($0)" }
    }

    private static func activation(_ field: JSONField) throws -> (any Operator)? {
        let name = try field.string(default: "torch.nn.modules.activation.Tanh")
        let parts = name.split(separator: ".")
        guard parts.first == "torch", let last = parts.last, let activation = activations[String(last)] else {
            let names = activations.keys.sorted().joined(separator: ", ")
            throw RequestError(
                "\(field.file), field \(field.path): the activation \(quoted(name)) is not supported "
                    + "(supported: those of torch.nn: \(names))", status: .unavailable)
        }
        return activation
    }

    /// - Parameter vector: F32[batch, inputs]
    /// - Returns: F32[batch, outputs]
    func apply(to vector: Value, in layers: inout LayerBuilder) throws -> Value {
        let sum = try layers.linear("\(folder).linear", vector, from: inputs.number, to: outputs, isBiased: isBiased)
        return try activation.map { try layers.apply($0, sum) } ?? sum
    }
}
