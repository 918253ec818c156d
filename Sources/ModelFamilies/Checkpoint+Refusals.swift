import ByteIO
import Tensors

extension Checkpoint {
    /// Files beside the weights by which other tools know that these are not the whole model.
    private static let sideFiles = [
        ("hf_quant_config.json", "says that ModelOpt has quantized the weights"),
        ("quantize_config.json", "says that GPTQ has quantized the weights"),
        ("quant_config.json", "says that AWQ has quantized the weights"),
        ("quanto_qmap.json", "says that quanto has quantized the weights"),
        ("adapter_config.json", "says that an adapter (LoRA or its kin) belongs to the model"),
    ]
    /// Fields of config.json that say so.
    private static let fields: Set<String> = ["quantization_config", "compression_config", "quantization"]

    /// - Throws: `RequestError` (unavailable) for a checkpoint that says of itself that it is quantized, or that an adapter
    ///   belongs to it.
    func refuseWhatWeightsDoNotSay() throws {
        if let path = configuration.value.flatMap({ Self.quantization(in: $0) }) {
            try configuration.refuse([(path, true, "a checkpoint that is quantized already")])
        }
        for (name, meaning) in Self.sideFiles where Files.kind(of: "\(folder)/\(name)") != nil {
            throw RequestError(
                "\(folder)/\(name) \(meaning), which is not supported: convert the model that it was made of, or a merged "
                    + "or dequantized one; if the file is left over from that, remove it", status: .unavailable)
        }
    }

    /// The path of the first such field, in the configuration or in one of a model within.
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
