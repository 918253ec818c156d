import AccelByteIO
import AccelPrograms
import AccelTensors

/// GPT-2 language models. See `GPT2Graph` for inputs, outputs and states.
struct GPT2: ModelFamily {
    static let modelTypes = ["gpt2"]
    static let architectures = ["GPT2LMHeadModel", "GPT2Model"]
    static let inertFields: [InertFields] = [
        InertFields("belongs to classes with other heads", ["summary_*"]),
        InertFields("repeats n_positions, and no class reads it", ["n_ctx"]),
        InertFields("says in which order and precision to compute the same", ["reorder_and_upcast_attn"]),
    ]
    let parts = ["decoder"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try GPT2Configuration(checkpoint.configuration, of: Self.architectures)
        names.prefixes = ["transformer."]
        names.explain("causal masks follow from positions") {
            $0.hasPrefix("h.") && ($0.hasSuffix(".attn.bias") || $0.hasSuffix(".attn.masked_bias"))
        }
        var graph = GPT2Graph(config: config, names: names)
        let program = try graph.program()
        names = graph.layers.names
        return [program]
    }
}

/// The checked configuration of GPT-2 models.
struct GPT2Configuration {
    let width: Int
    let heads: Int
    let layers: Int
    let intermediate: Int
    let vocabulary: Int
    let positions: Int
    let epsilon: Double
    let activation: any Operator
    let tiesHead: Bool
    /// The model has no head and returns hidden states.
    let isBare: Bool
    /// Scores are divided by the square root of the head width.
    private let scales: Bool
    /// Scores of layer N are also divided by N + 1.
    private let scalesByLayer: Bool

    init(_ config: JSONField, of architectures: [String]) throws {
        isBare = try config.architecture(among: architectures) != architectures.first
        width = try config["n_embd"].int(in: 1...1 << 16, default: 768)
        heads = try config["n_head"].int(in: 1...1 << 12, default: 12)
        guard width % heads == 0 else { throw config["n_head"].error("\(heads) heads do not divide n_embd \(width)") }
        layers = try config["n_layer"].int(in: 1...1000, default: 12)
        let inner = config["n_inner"]
        intermediate = inner.exists ? try inner.int(in: 1...1 << 20) : 4 * width
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 50257)
        positions = try config["n_positions"].int(in: 1...1 << 24, default: 1024)
        epsilon = config["layer_norm_epsilon"].exists ? try config["layer_norm_epsilon"].double() : 1e-5
        guard epsilon >= 0, epsilon < 1 else {
            throw config["layer_norm_epsilon"].error("\(epsilon) is outside of 0..<1")
        }
        activation = try HiddenActivation.read(config["activation_function"], default: "gelu_new")
        tiesHead = try config["tie_word_embeddings"].bool(default: true)
        scales = try config["scale_attn_weights"].bool(default: true)
        scalesByLayer = try config["scale_attn_by_inverse_layer_idx"].bool(default: false)
        try config.reject([
            (
                "add_cross_attention", try config["add_cross_attention"].bool(default: false),
                "attention to an encoder's states"
            )
        ])
        // Names that transformers accepts for the same fields.
        for (name, field) in [
            ("hidden_size", "n_embd"), ("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer"),
            ("max_position_embeddings", "n_positions"),
        ] {
            try config.requireEqual(name, to: field)
        }
    }

    /// Returns the factor of the attention scores of a layer.
    func attentionScale(ofLayer index: Int) -> Double {
        (scales ? 1 / Double(width / heads).squareRoot() : 1) / (scalesByLayer ? Double(index + 1) : 1)
    }
}
