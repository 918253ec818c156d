public import AccelByteIO

/// The registry of model families. A new family is one file in `Families/` and one line here.
public enum Families {
    /// Every family.
    public static let all: [any ModelFamily.Type] = [
        Bert.self,
        CLIP.self,
        CLIPTower.self,
        DistilBert.self,
        Gemma.self,
        Gemma3Text.self,
        GPT2.self,
        Kokoro.self,
        KokoroBlocks.self,
        Llama.self,
        Mistral.self,
        ModernBert.self,
        Moonshine.self,
        MPNet.self,
        Parakeet.self,
        ParakeetTransducer.self,
        Phi3.self,
        Qwen2.self,
        Qwen3.self,
        Roberta.self,
        SNAC.self,
        Siglip.self,
        SiglipVision.self,
        SileroVAD.self,
        ViT.self,
        Wav2Vec2.self,
        Whisper.self,
    ]

    /// Returns the family of a model by the `model_type` in config.json, or by its class or other fields if that is missing.
    /// - Throws: `FormatError` if `model_type` is missing and no family recognises the fields; `RequestError`
    ///   (unavailable) for an unsupported `model_type`, and for a missing file.
    public static func matching(_ configuration: JSONField) throws -> any ModelFamily {
        guard configuration.exists else {
            throw RequestError(
                "\(configuration.file) is missing: it defines the meaning of the tensors", status: .unavailable,
                code: .configurationMissing)
        }
        if !configuration["model_type"].exists {
            for family in all where family.recognizes(configuration) { return family.init() }
            let name = try? configuration["architectures"].array().first?.string()
            if let family = all.first(where: { name.map($0.architectures.contains) ?? false }) { return family.init() }
        }
        let modelType = try configuration["model_type"].string()
        for family in all where family.modelTypes.contains(modelType) { return family.init() }
        let supported = all.flatMap { $0.modelTypes }.sorted().joined(separator: ", ")
        throw RequestError(
            "\(configuration.file): models of type \(quoted(modelType)) are not supported (supported: \(supported))",
            status: .unavailable)
    }
}

extension Diagnostic.Code {
    /// A model has no config.json.
    package static let configurationMissing: Self = "configuration-missing"
}
