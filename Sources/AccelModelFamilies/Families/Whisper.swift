import AccelByteIO
import AccelPrograms
import AccelTensors

/// Whisper speech recognition, in three parts that are connected by states.
///
/// - `encoder`: `input_features` F32[batch, mels, frames] -> `last_hidden_state` F32[batch, (frames+1)/2, width].
///   Models are trained for windows of 2 * `max_source_positions` frames; shorter windows give other results than the
///   original.
/// - `cross_kv`: `encoder_hidden_states`, the output of the encoder -> for each decoder layer `cross_k.N` and
///   `cross_v.N` F32[batch, heads, (frames+1)/2, head width], once per window, as outputs and as states.
/// - `decoder`: `decoder_input_ids` I64[batch, tokens], a block of tokens, and `position` I64[1], the position of the
///   first -> `logits` F32[batch, tokens, vocabulary], or for a bare model `last_hidden_state`. Its states are
///   `cross_k.N` and `cross_v.N`, which it reads, and `self_k.N` and `self_v.N` F32[batch, heads, cache, head width],
///   to which it writes the block.
/// - `aligner`, which is built where it is asked for: `decoder_input_ids` I64[batch, sequence], a whole text, and the states `cross_k.N` and
///   `cross_v.N` -> `alignment` F32[batch, heads, sequence, (frames+1)/2], the scores of the alignment heads before the softmax.
/// - `MelSpectrogram`, `AudioEncoder` and `TextDecoder`, built by name, with the ports of WhisperKit (`WhisperGraph+WhisperKit.swift`).
struct Whisper: ModelFamily {
    static let version = 4
    static let modelTypes = ["whisper"]
    static let architectures = ["WhisperForConditionalGeneration", "WhisperModel"]
    static let inertFields: [InertFields] =
        .masking + [
            InertFields("belongs to classifiers of audio", ["use_weighted_layer_sum", "classifier_proj_size"]),
            InertFields("belongs to the times of words", ["median_filter_width", "alignment_heads"]),
            InertFields("stored, and used by no class", ["scale_embedding"]),
        ]
    let parts = ["encoder", "cross_kv", "decoder", "aligner"]
    let defaultParts = ["encoder", "cross_kv", "decoder"]
    let contractParts = WhisperGraph.whisperKitParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try WhisperConfiguration(checkpoint.configuration, of: Self.architectures)
        names.prefixes = ["model."]
        names.explainSpeechParts(besides: parts, isBare: config.isBare)
        return try parts.map { part in
            var graph = WhisperGraph(config: config, part: part, names: names)
            switch part {
            case "encoder": try graph.encoder()
            case "cross_kv": try graph.crossKeysAndValues()
            case "aligner": try graph.aligner(try AlignmentHeads(of: checkpoint, config))
            case "MelSpectrogram": try graph.melSpectrogram()
            case "AudioEncoder": try graph.audioEncoder()
            case "TextDecoder": try graph.textDecoder(try AlignmentHeads.listed(by: checkpoint, config))
            default: try graph.decoder()
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}

/// The checked configuration of Whisper models.
struct WhisperConfiguration {
    struct Stack {
        let layers: Int
        let heads: Int
        let intermediate: Int
    }
    let width: Int
    let encoder: Stack
    let decoder: Stack
    let mels: Int
    let vocabulary: Int
    let sourcePositions: Int
    let targetPositions: Int
    let activation: any Operator
    let tiesHead: Bool
    /// The decoder has no head and returns hidden states.
    let isBare: Bool

    init(_ config: JSONField, of architectures: [String]) throws {
        let architecture = try config.architecture(among: architectures)
        isBare = architecture != architectures.first
        let width = try config["d_model"].int(in: 1...1 << 16)
        func stack(_ name: String) throws -> Stack {
            let heads = try config["\(name)_attention_heads"].int(in: 1...1 << 12)
            guard width % heads == 0 else {
                throw config["\(name)_attention_heads"].error("\(heads) heads do not divide d_model \(width)")
            }
            return Stack(
                layers: try config["\(name)_layers"].int(in: 1...1000), heads: heads,
                intermediate: try config["\(name)_ffn_dim"].int(in: 1...1 << 20))
        }
        self.width = width
        (encoder, decoder) = (try stack("encoder"), try stack("decoder"))
        mels = try config["num_mel_bins"].int(in: 1...1 << 12, default: 80)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24)
        sourcePositions = try config["max_source_positions"].int(in: 1...1 << 20, default: 1500)
        targetPositions = try config["max_target_positions"].int(in: 1...1 << 20, default: 448)
        for (name, field) in [
            ("hidden_size", "d_model"), ("num_hidden_layers", "encoder_layers"),
            ("num_attention_heads", "encoder_attention_heads"), ("num_key_value_heads", "encoder_attention_heads"),
        ] {
            try config.requireEqual(name, to: field)
        }
        activation = try HiddenActivation.read(config["activation_function"], default: "gelu")
        tiesHead = try config["tie_word_embeddings"].bool(default: true)
    }
}
