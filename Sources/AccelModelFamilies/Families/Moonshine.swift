import AccelByteIO
import AccelPrograms
import AccelTensors

/// Moonshine speech recognition (Jeffries et al. 2024), from samples to text, in three parts that are connected by states.
///
/// - `encoder`: `input_values` F32[batch, samples], a sound at 16 kHz with any padding behind it, and `length` I64[batch], the number of
///   samples that are no padding -> `last_hidden_state` F32[batch, states, width]. A state sees 895 samples, and begins 384 samples after
///   the one before: there are (samples - 895) / 384 + 1 of them, rounded down. States that see padding are 0, and the others do not
///   depend on it. A length below 895 counts as 895.
/// - `cross_kv`: `encoder_hidden_states`, the output of the encoder -> for each decoder layer `cross_k.N` and `cross_v.N`
///   F32[batch, heads, states, head width], once per sound, as outputs and as states. The keys of padding are 0.
/// - `decoder`: `decoder_input_ids` I64[batch, tokens], a block of tokens, and `position` I64[1], the position of the first -> `logits`
///   F32[batch, tokens, vocabulary], or for a bare model `last_hidden_state`. Its states are `cross_k.N` and `cross_v.N`, which it reads,
///   and `self_k.N` and `self_v.N` F32[batch, heads, cache, head width], to which it writes the block. States whose keys are 0 are
///   padding. Keys are in another order than in transformers: of each head the first elements of all rotated pairs, the second ones, and
///   the rest.
struct Moonshine: ModelFamily {
    static let modelTypes = ["moonshine"]
    static let architectures = ["MoonshineForConditionalGeneration", "MoonshineModel"]
    static let inertFields: [InertFields] = [
        InertFields("adds zeros to heads, which change no result", ["pad_head_dim_to_multiple_of"])
    ]
    let parts = ["encoder", "cross_kv", "decoder"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try MoonshineConfiguration(checkpoint.configuration, of: Self.architectures)
        names.prefixes = ["model."]
        names.explainSpeechParts(besides: parts, isBare: config.isBare)
        return try parts.map { part in
            var graph = MoonshineGraph(config: config, part: part, names: names)
            switch part {
            case "encoder": try graph.encoder()
            case "cross_kv": try graph.crossKeysAndValues()
            default: try graph.decoder()
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}

/// The checked configuration of Moonshine models. A missing field has the default of transformers.
struct MoonshineConfiguration {
    let width: Int
    let encoderLayers: Int
    let decoderLayers: Int
    /// The heads of every attention.
    let heads: Int
    let intermediate: Int
    let vocabulary: Int
    /// The tokens that the model was made for.
    let positions: Int
    let encoderActivation: any Operator
    let decoderActivation: any Operator
    let rotary: RotaryEmbedding
    /// Queries, keys and values have a bias.
    let hasAttentionBias: Bool
    let tiesHead: Bool
    /// The decoder has no head and returns hidden states.
    let isBare: Bool

    var headWidth: Int { width / heads }

    init(_ config: JSONField, of architectures: [String]) throws {
        isBare = try config.architecture(among: architectures) != architectures.first
        width = try config["hidden_size"].int(in: 1...1 << 16, default: 288)
        encoderLayers = try config["encoder_num_hidden_layers"].int(in: 1...1000, default: 6)
        decoderLayers = try config["decoder_num_hidden_layers"].int(in: 1...1000, default: 6)
        heads = try Self.heads(config, width: width)
        intermediate = try config["intermediate_size"].int(in: 1...1 << 20, default: 1152)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 32768)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 24, default: 512)
        encoderActivation = try HiddenActivation.read(config["encoder_hidden_act"], default: "gelu")
        decoderActivation = try HiddenActivation.read(config["decoder_hidden_act"], default: "silu")
        let source = RotarySource(
            objects: RotarySource.objects(config), config: config, kinds: ["default"], rotatesParts: true,
            usualShare: 0.9)
        rotary = try RotaryEmbedding(source, headWidth: width / heads, positions: positions)
        hasAttentionBias = try config["attention_bias"].bool(default: false)
        tiesHead = try config["tie_word_embeddings"].bool(default: true)
        for (name, field) in [
            ("num_hidden_layers", "decoder_num_hidden_layers"), ("num_attention_heads", "decoder_num_attention_heads"),
            ("num_key_value_heads", "decoder_num_key_value_heads"), ("hidden_act", "decoder_hidden_act"),
        ] {
            try config.requireEqual(name, to: field)
        }
    }

    /// Returns the number of heads, which transformers shares between encoder and decoder, queries and keys, whatever these fields say.
    private static func heads(_ config: JSONField, width: Int) throws -> Int {
        let first = "encoder_num_attention_heads"
        let heads = try config[first].int(in: 1...1 << 12, default: 8)
        guard width % heads == 0 else {
            throw config[first].error("\(heads) heads do not divide hidden_size \(width)")
        }
        for (name, usual) in [
            ("decoder_num_attention_heads", 8), ("encoder_num_key_value_heads", heads),
            ("decoder_num_key_value_heads", heads),
        ] {
            let count = try config[name].int(in: 1...1 << 12, default: usual)
            guard count == heads else {
                throw config[name].error("expected \(heads), the number of \(first), found \(count)")
            }
        }
        let headWidth = try config["head_dim"].int(in: 1...1 << 16, default: width / heads)
        guard headWidth == width / heads else {
            throw config["head_dim"].error("expected \(width / heads), the share of a head in hidden_size")
        }
        return heads
    }
}
