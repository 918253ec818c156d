package import AccelByteIO
import AccelTensors

extension Diagnostic.Code {
    /// The weights of a checkpoint are those under an adapter beside them.
    package static let adapterBesideModel: Self = "adapter-beside-model"
    /// The weights of a checkpoint are quantized, or wrapped, in a way that is not read.
    package static let unsupportedCheckpoint: Self = "unsupported-checkpoint"
    /// A field is to be ignored, and the model depends on it.
    package static let ignoredFieldIsRead: Self = "ignored-field-is-read"
    /// No function reads a tensor, and nothing explains that. The candidate is the tensor's name.
    package static let unusedTensor: Self = "unused-tensor"
}

extension Checkpoint {
    /// Files beside the weights that show that the weights alone are not the model.
    private static let sideFiles = [
        ("hf_quant_config.json", "says that ModelOpt has quantized the weights"),
        ("quantize_config.json", "says that GPTQ has quantized the weights"),
        ("quant_config.json", "says that AWQ has quantized the weights"),
        ("quanto_qmap.json", "says that quanto has quantized the weights"),
        ("adapter_config.json", "says that an adapter (LoRA or its kin) belongs to the model"),
    ]
    /// Fields of config.json that show that the weights are quantized.
    private static let fields: Set<String> = ["quantization_config", "compression_config", "quantization"]

    /// Rejects checkpoints whose weights alone are not the model.
    /// - Throws: `RequestError` (unavailable) for a checkpoint that is marked as quantized, or that comes with an
    ///   adapter.
    func rejectIncompleteWeights() throws {
        if let path = configuration.value.flatMap({ Self.quantization(in: $0) }) {
            try configuration.reject([(path, true, "a checkpoint that is quantized already")])
        }
        for (name, meaning) in Self.sideFiles
        where Files.kind(of: "\(folder)/\(name)") != nil && (!isDecoded || name == "adapter_config.json") {
            throw RequestError(
                "\(folder)/\(name) \(meaning), which is not supported", status: .unavailable,
                code: name == "adapter_config.json" ? .adapterBesideModel : .unsupportedCheckpoint)
        }
    }

    /// Rejects sentence encoders in families that build the transformer only.
    /// - Throws: `RequestError` (unavailable).
    func rejectModules() throws {
        guard let document = try document("modules.json") else { return }
        let types = try document.array().map { module in
            try module["type"].string().split(separator: ".").last.map(String.init) ?? ""
        }
        guard let module = types.first(where: { $0 != "Transformer" }) else { return }
        throw RequestError(
            "\(document.file): the module \"\(module)\" after the transformer is not supported for this model_type",
            status: .unavailable)
    }

    /// Rejects ignored fields that the family reads.
    /// - Throws: `RequestError` naming the field.
    func rejectIgnoredFieldsThatAreRead() throws {
        let read = configuration.pathsRead
        guard let field = ignoredFields.first(where: read.contains) else { return }
        throw RequestError(
            "the field \(field) cannot be ignored: the model depends on this field of \(configuration.file)",
            code: .ignoredFieldIsRead)
    }

    /// Returns sentences about unusual properties of the weights.
    /// - Parameter used: the names of the tensors that a program reads.
    func remarksOnWeights(_ used: Set<String>) -> [String] {
        let plain = tensors.filter { used.contains($0.name) && [.float8e4m3, .float8e5m2].contains($0.elementType) }
        guard let first = plain.first else { return [] }
        let subject = plain.count == 1 ? "1 weight is" : "\(plain.count) weights are"
        return [
            "\(subject) of type \(first.elementType.rawValue) without a scale, and taken as plain numbers "
                + "(\(plain.prefix(3).map(\.name).joined(separator: ", ")))"
        ]
    }

    /// Returns the path of the first quantization field, also in nested configurations.
    private static func quantization(in document: JSON) -> String? {
        guard case .object(let members) = document else { return nil }
        for member in members where member.value != .null {
            if fields.contains(member.key) { return member.key }
            if member.key.contains("config"), let path = quantization(in: member.value) {
                return "\(member.key).\(path)"
            }
        }
        return nil
    }
}
