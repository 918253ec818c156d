import AccelByteIO
import AccelPackages
import AccelPlatform
import AccelTensors

/// Whisper in the layout of mlx-examples: config.json has the sizes of the model, and no more.
struct MLXWhisper: MLXSettings {
    let remarks: [String] = []
    /// The sizes, and the numbers of mlx-whisper's `ModelDimensions`.
    private let sizes: [JSON.Member]
    private let (sourcePositions, width): (Int, Int)
    /// The heads that follow the audio, as [layer, head]; nil if the model does not name them.
    let alignmentHeads: StoredTensor?

    /// The file of the weights, which are never in several.
    static let fileName = "weights.safetensors"
    private static let headsName = "alignment_heads"
    private static let positionsName = "encoder.embed_positions.weight"
    private static let dimensions = [
        ("n_mels", "num_mel_bins"), ("n_audio_ctx", "max_source_positions"), ("n_audio_state", "d_model"),
        ("n_audio_head", "encoder_attention_heads"), ("n_audio_layer", "encoder_layers"), ("n_vocab", "vocab_size"),
        ("n_text_ctx", "max_target_positions"), ("n_text_state", "d_model"),
        ("n_text_head", "decoder_attention_heads"), ("n_text_layer", "decoder_layers"),
    ]
    private static let usual = ["num_mel_bins": 80, "max_source_positions": 1500, "max_target_positions": 448]

    static let family = MLXFamily(
        name: "whisper", required: [], head: .tied,
        names: MLXNames(
            prefix: ("model.", ""),
            tensors: [
                ("encoder.layer_norm.weight", "encoder.ln_post.weight"),
                ("encoder.layer_norm.bias", "encoder.ln_post.bias"), ("decoder.layer_norm.weight", "decoder.ln.weight"),
                ("decoder.layer_norm.bias", "decoder.ln.bias"),
                ("decoder.embed_positions.weight", "decoder.positional_embedding"),
            ],
            words: [
                ("layers", "blocks"), ("embed_tokens", "token_embedding"), ("self_attn", "attn"),
                ("self_attn_layer_norm", "attn_ln"), ("encoder_attn", "cross_attn"),
                ("encoder_attn_layer_norm", "cross_attn_ln"), ("final_layer_norm", "mlp_ln"), ("q_proj", "query"),
                ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out"), ("fc1", "mlp1"), ("fc2", "mlp2"),
            ],
            kernels: ["encoder.conv1.weight", "encoder.conv2.weight"], computed: [positionsName], extra: [headsName]),
        needed: [
            "encoder.conv1.weight", "decoder.embed_tokens.weight", "decoder.layers.0.encoder_attn.k_proj.weight",
        ], ownHead: "proj_out.weight", isOneFile: true)

    /// Reads a checkpoint's configuration.
    /// - Throws: `RequestError` for a model that mlx-whisper's class cannot compute; `FormatError`.
    init(of assets: [Asset]) throws {
        let file = MLXConfiguration.fileName
        guard let asset = assets.first(where: { $0.name == file }) else {
            throw RequestError("MLX: the model has no \(file), which says its sizes")
        }
        let field = JSONField(try JSON.parse(asset.content, file: file), file: file)
        func size(_ key: String) throws -> Int {
            if !field[key].exists, let usual = Self.usual[key] { return usual }
            return try field[key].int(in: 1...1 << 24)
        }
        (width, sourcePositions) = (try size("d_model"), try size("max_source_positions"))
        func reject(_ key: String, _ reason: String) -> RequestError {
            RequestError("MLX: mlx-whisper \(reason): the field \(key) of \(file) asks for it")
        }
        for key in ["encoder_ffn_dim", "decoder_ffn_dim"] where try size(key) != 4 * width {
            throw reject(key, "has inner layers of 4 * d_model = \(4 * width) only")
        }
        guard width % 2 == 0, width >= 4 else { throw reject("d_model", "has an even width") }
        let activation = field["activation_function"]
        guard try !activation.exists || activation.string() == "gelu" else {
            throw reject("activation_function", "has no activation but gelu")
        }
        let classes = try field["architectures"].exists ? field["architectures"].array() : []
        guard try classes.first?.string() != "WhisperModel" else {
            throw reject("architectures", "computes logits, and the model has no head")
        }
        sizes = try Self.dimensions.map { JSON.Member($0.0, .integer(Int64(try size($0.1)))) }
        alignmentHeads = try Self.heads(in: assets, field)
    }

    /// Returns the heads that generation_config.json or config.json names.
    private static func heads(in assets: [Asset], _ configuration: JSONField) throws -> StoredTensor? {
        let file = "generation_config.json"
        let generation = try assets.first { $0.name == file }.map {
            JSONField(try JSON.parse($0.content, file: file), file: file)
        }
        guard let field = [generation, configuration].compactMap({ $0?[headsName] }).first(where: \.exists) else {
            return nil
        }
        let heads = try field.array().map { try $0.array().map { Int64(try $0.int(in: 0...1 << 16)) } }
        guard heads.allSatisfy({ $0.count == 2 }) else { throw field.error("expected pairs of a layer and a head") }
        return StoredTensor(name: headsName, integers: heads.flatMap { $0 }, shape: [heads.count, 2])
    }

    func text(_ quantization: MLXQuantization?) throws -> String {
        if let other = quantization?.exceptions.first(where: { $0.scheme != nil }) {
            throw RequestError(
                "MLX: mlx-whisper has one scheme for all quantized layers, but \(other.name) has another one: use one "
                    + "scheme, and stored for the others")
        }
        let block = quantization.map { [JSON.Member(MLXQuantization.key, $0.usual.json)] } ?? []
        return JSON.object([JSON.Member("model_type", "whisper")] + sizes + block).text(pretty: true)
    }

    var extra: [StoredTensor] { alignmentHeads.map { [$0] } ?? [] }

    func check(computed name: String, _ values: @autoclosure () -> [Float]) throws {
        let own = Self.sinusoids(sourcePositions, width)
        let found = values()
        guard found.count == own.count, let apart = zip(found, own).map({ abs($0 - $1) }).max(), apart < 5e-3 else {
            throw RequestError(
                "MLX: mlx-whisper computes the encoder's positions as sines and cosines, but \(quoted(name)) differs from them"
            )
        }
    }

    /// The positions of the encoder: sines of falling frequencies, and then cosines.
    private static func sinusoids(_ length: Int, _ width: Int) -> [Float] {
        let step = log(10000.0) / Double(width / 2 - 1)
        return (0..<length).flatMap { position in
            let angles = (0..<width / 2).map { Double(position) * exp(-step * Double($0)) }
            return (angles.map(sin) + angles.map(cos)).map { Float($0) }
        }
    }

    // MARK: - Reading

    /// Returns whether a configuration is of this layout.
    static func recognises(_ configuration: JSONField) -> Bool {
        configuration["n_audio_state"].exists && configuration["n_mels"].exists
    }

    /// Returns the names, the axes and the configuration of a model.
    /// - Throws: `FormatError` for a configuration without the sizes.
    static func layout(of checkpoint: Checkpoint) throws -> TensorLayout {
        let field = checkpoint.configuration
        let most = 1 << 24
        var members = try dimensions.map { JSON.Member($0.1, .integer(Int64(try field[$0.0].int(in: 1...most)))) }
        let width = try field["n_audio_state"].int(in: 4...1 << 16)
        guard try field["n_text_state"].int() == width, width % 2 == 0 else {
            throw field["n_text_state"].error("expected an even number, that of n_audio_state")
        }
        let positions = try field["n_audio_ctx"].int(in: 1...1 << 20)
        try MachineMemory.require(positions * width * 8, for: "the positions of \(checkpoint.folder)")
        members.removeAll { $0.key == "d_model" }
        members += [
            JSON.Member("d_model", .integer(Int64(width))), JSON.Member("encoder_ffn_dim", .integer(Int64(4 * width))),
            JSON.Member("decoder_ffn_dim", .integer(Int64(4 * width))), JSON.Member("model_type", "whisper"),
            JSON.Member("architectures", ["WhisperForConditionalGeneration"]),
            JSON.Member("activation_function", "gelu"), JSON.Member("tie_word_embeddings", true),
        ]
        let added = StoredTensor(
            name: family.names.prefix.own + positionsName, floats: sinusoids(positions, width),
            shape: [positions, width])
        return TensorLayout(
            configuration: JSONField(.object(members), file: field.file), added: [added],
            place: family.names.tensor(named:))
    }
}
