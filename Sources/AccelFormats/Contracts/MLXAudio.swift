import AccelByteIO
import AccelTensors

/// mlx-audio-swift (Blaizzy/mlx-audio-swift, WhisperModel.swift and WhisperConfig.swift), as far as its source gives exact names: Whisper.
/// It reads every .safetensors file of the folder, translates the names of mlx-whisper, ignores those that it does not know, and rejects
/// a tensor that is missing or of another shape.
extension RuntimeContract {
    static let mlxAudio = RuntimeContract(
        name: "mlx-audio", summary: "Whisper by MLX", families: [MLXWhisper.family.name],
        gap: "accelc writes no other audio models for MLX", format: MLXExporter.self, parts: [.model],
        findings: { folder in
            let configuration = try MLXConfiguration.read(in: folder)
            try checkSchemes(configuration[MLXQuantization.key], in: folder)
            return try sizes(configuration)
                + missingTokenizer(in: folder, "mlx-audio downloads that of OpenAI's model with as many tokens")
                + missingTokens(in: folder)
        })

    private static func missingTokens(in folder: String) -> [String] {
        guard Files.kind(of: "\(folder)/generation_config.json") != .file else { return [] }
        return ["the model has no generation_config.json: mlx-audio guesses the numbers of special tokens"]
    }

    /// The positions of the encoder that mlx-audio computes, whatever `n_audio_ctx` is.
    private static let positions = 1500

    private static func sizes(_ configuration: JSONField) throws -> [String] {
        let count = try configuration["n_audio_ctx"].int()
        guard count != positions else { return [] }
        return [
            "mlx-audio computes \(positions) positions of the encoder, and the model has \(count): it does not load the model"
        ]
    }

    /// Checks that all matrices have the scheme of the block, or none is quantized: mlx-audio looks for scales in every linear layer and in
    /// the token embeddings, and reads neither the mode nor members for single layers.
    /// - Throws: `RequestError` with the mode or the layer.
    private static func checkSchemes(_ block: JSONField, in folder: String) throws {
        guard block.exists else { return }
        let mode = try MLXScheme(parsing: block).mode
        guard mode == .affine else {
            throw RequestError("mlx-audio has no mode \(mode.rawValue): use one affine scheme for all layers")
        }
        let tensors = try SafetensorsFile("\(folder)/\(MLXWhisper.fileName)").tensors
        let plain = tensors.first {
            $0.name.hasSuffix(".weight") && $0.shape.rank == 2 && $0.elementType != .uint32
        }
        if let plain {
            throw RequestError(
                "mlx-audio quantizes all linear layers or none, and \(quoted(plain.name)) is plain: use one affine scheme for all layers"
            )
        }
    }
}
