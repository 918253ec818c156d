import AccelByteIO
import AccelPrograms

/// The common configuration of decoder-only language models. Each family fills it from its own fields.
struct DecoderConfiguration {
    /// The attention window and the rotary embedding of one layer.
    struct Layer: Equatable {
        /// The number of positions that a token attends to, up to its own and likewise from its own on where it attends to later tokens;
        /// nil for all.
        var window: Int?
        var rotary: RotaryEmbedding
    }
    /// The layer after the last one.
    enum Head: Equatable {
        /// Scores of the vocabulary. The first class of each family has them.
        case words
        /// Scores of labels at the last token of a text, which is not the padding token.
        case labels(count: Int, padding: Int?)
        /// No such layer: the model returns hidden states.
        case bare
    }
    /// The linear layers that have a bias.
    struct Biases {
        var queryKeyValue = false
        var attentionOutput = false
        var feedForward = false
    }
    let width: Int
    let heads: Int
    let keyHeads: Int
    let headWidth: Int
    let intermediate: Int
    let vocabulary: Int
    let positions: Int
    let epsilon: Double
    var activation: any Operator
    let tiesHead: Bool
    let head: Head
    var layers: [Layer] = []
    var biases = Biases()
    /// The factor of the attention scores.
    var attentionScale: Double
    /// The field by which tokens attend to those after them, too; nil if they do not. Such a model encodes whole texts only.
    var attendsToLater: JSONField?
    /// Queries and keys are normalised per head before the rotary embedding.
    var normalisesQueriesAndKeys = false
    /// One linear layer computes queries, keys and values, and one computes gate and up.
    var packsProjections = false
    /// Checkpoints store the gains of norms minus 1.
    var gainsStartAtOne = false
    /// The results of attention and feed-forward are normalised before they are added.
    var normalisesResults = false
    /// The factor of the word embeddings; nil for 1.
    var embeddingScale: Float?
    /// The bound of the softly capped logits; nil for none.
    var logitCap: Float?

    /// The defaults of missing fields in transformers.
    struct Defaults {
        var keyHeads: Int?
        var headWidth: Int?
        var epsilon = 1e-6
        var activation = (field: "hidden_act", name: "silu")
        var tiesHead = false
        var positions = 2048
    }

    init(_ config: JSONField, of architectures: [String], defaults: Defaults = Defaults()) throws {
        let architecture = try config.architecture(among: architectures)
        if architecture == architectures.first {
            head = .words
        } else if architecture.hasSuffix("ForSequenceClassification") {
            let padding = config["pad_token_id"]
            head = .labels(count: try config.labelCount(), padding: padding.exists ? try padding.int() : nil)
        } else {
            head = .bare
        }
        width = try config["hidden_size"].int(in: 1...1 << 16)
        heads = try config["num_attention_heads"].int(in: 1...1 << 12)
        let shared = config["num_key_value_heads"].value == .null ? nil : defaults.keyHeads
        keyHeads = try config["num_key_value_heads"].int(in: 1...1 << 12, default: shared ?? heads)
        guard heads % keyHeads == 0 else {
            throw config["num_key_value_heads"].error("\(keyHeads) key heads do not divide \(heads) heads")
        }
        headWidth = try config["head_dim"].int(in: 2...1 << 12, default: defaults.headWidth ?? max(width / heads, 2))
        intermediate = try config["intermediate_size"].int(in: 1...1 << 20)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 24, default: defaults.positions)
        epsilon = config["rms_norm_eps"].exists ? try config["rms_norm_eps"].double() : defaults.epsilon
        guard epsilon >= 0, epsilon < 1 else { throw config["rms_norm_eps"].error("\(epsilon) is outside of 0..<1") }
        activation = try HiddenActivation.read(
            config[defaults.activation.field], default: defaults.activation.name)
        tiesHead = try config["tie_word_embeddings"].bool(default: defaults.tiesHead)
        attentionScale = 1 / Double(headWidth).squareRoot()
    }

    /// Rejects fields that request biases which the class in transformers does not have.
    static func rejectBiases(_ config: JSONField, _ names: String...) throws {
        try config.reject(
            try names.map { ($0, try config[$0].bool(default: false), "a bias in these layers of the model") })
    }

    static func layerCount(_ config: JSONField) throws -> Int { try config["num_hidden_layers"].int(in: 1...1000) }

    /// Returns the rotary embedding that all layers share.
    func rotary(_ config: JSONField) throws -> RotaryEmbedding {
        try rotary(RotarySource.ofLayers(config))
    }

    func rotary(_ source: RotarySource) throws -> RotaryEmbedding {
        try RotaryEmbedding(source, headWidth: headWidth, positions: positions)
    }

    /// Returns the sliding window; nil if the field is null.
    static func window(_ config: JSONField, default other: Int?) throws -> Int? {
        let field = config["sliding_window"]
        if field.value == nil { return other }
        return field.exists ? try field.int(in: 1...1 << 30) : nil
    }
}
