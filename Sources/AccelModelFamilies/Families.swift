public import AccelByteIO

/// The registry of model families. A new family is a file in `Families/` and a line here.
public enum Families {
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
        MPNet.self,
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

    /// The family of a model by the `model_type` of its config.json, or by its fields where it has none.
    /// - Throws: `FormatError` without a `model_type` that no family recognizes; `RequestError` (unavailable) for one that no family reads.
    public static func matching(_ configuration: JSONField) throws -> any ModelFamily {
        guard configuration.exists else {
            throw RequestError(
                "\(configuration.file) is missing: without it nobody knows what the tensors mean; put the model's "
                    + "config.json beside its weights or name it", status: .unavailable)
        }
        if !configuration["model_type"].exists {
            for family in all where family.recognizes(configuration) { return family.init() }
        }
        let modelType = try configuration["model_type"].string()
        for family in all where family.modelTypes.contains(modelType) { return family.init() }
        let supported = all.flatMap { $0.modelTypes }.sorted()
        let near = nearestNames(to: modelType, among: supported).prefix(3)
        let known =
            near.isEmpty
            ? " (supported: \(supported.joined(separator: ", ")))"
            : "; the nearest that are: \(near.joined(separator: ", ")) (accelc families lists all)"
        throw RequestError(
            "\(configuration.file): models of type \(quoted(modelType)) are not supported\(known)", status: .unavailable
        )
    }
}
