import AccelByteIO
import AccelPrograms
import AccelTensors

/// The checked configuration of BERT models. A missing field has the default of transformers.
struct BertConfiguration {
    var encoder: EncoderLayers
    let layers: Int
    /// The names of layers without their numbers.
    var layerName = "encoder.layer"
    let vocabulary: Int
    /// The number of rows in the table of positions.
    let positions: Int
    /// The number of segments; 0 if the model has none.
    let segments: Int
    /// Callers pass the segment of each token.
    var takesSegments: Bool
    /// The number of the padding token, if positions count only the tokens that are not padding, starting after this
    /// number; else nil.
    var padding: Int?
    let activation: any Operator
    let labels: Int
    let tiesHead: Bool

    var width: Int { encoder.width }
    var epsilon: Double { encoder.epsilon }
    /// The longest supported sequence.
    var longest: Int { positions - (padding.map { $0 + 1 } ?? 0) }

    /// The names of fields that differ among BERT and its descendants.
    struct Fields {
        var width = "hidden_size"
        var layers = "num_hidden_layers"
        var heads = "num_attention_heads"
        var intermediate = "intermediate_size"
        var activation = "hidden_act"
        /// nil if there is no such field.
        var segments: String? = "type_vocab_size"
        var epsilon: String? = "layer_norm_eps"
        var vocabulary = 30522
        var layerCount = 12
    }

    init(_ config: JSONField, fields: Fields = Fields(), names: EncoderLayers.Names = BertConfiguration.names) throws {
        let width = try config[fields.width].int(in: 1...1 << 16, default: 768)
        layers = try config[fields.layers].int(in: 1...1000, default: fields.layerCount)
        let heads = try config[fields.heads].int(in: 1...1 << 16, default: 12)
        guard width % heads == 0 else {
            throw config[fields.heads].error("\(heads) heads do not divide \(fields.width) \(width)")
        }
        let intermediate = try config[fields.intermediate].int(in: 1...1 << 20, default: 3072)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: fields.vocabulary)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 20, default: 512)
        segments = try fields.segments.map { try config[$0].int(in: 1...1 << 16, default: 2) } ?? 0
        takesSegments = segments > 0
        activation = try HiddenActivation.read(config[fields.activation], default: "gelu")
        encoder = EncoderLayers(
            width: width, heads: heads, intermediate: intermediate,
            epsilon: try fields.epsilon.map { try config.epsilon($0, default: 1e-12) } ?? 1e-12,
            activation: activation, normsFirst: false, names: names, length: "sequence")
        labels = try config.labelCount()
        tiesHead = try config["tie_word_embeddings"].bool(default: true)
        try config.reject([
            ("is_decoder", try config["is_decoder"].bool(default: false), "BERT as a decoder"),
            ("add_cross_attention", try config["add_cross_attention"].bool(default: false), "cross attention"),
            (
                "pruned_heads", try config["pruned_heads"].exists && !config["pruned_heads"].members().isEmpty,
                "pruned heads"
            ),
            (
                "position_embedding_type",
                try config["position_embedding_type"].exists
                    && config["position_embedding_type"].string() != "absolute",
                "a position embedding other than \"absolute\""
            ),
        ])
    }

    /// Lets positions count only the tokens that are not padding, starting after the number of the padding token.
    mutating func countPositions(over field: JSONField, default other: Int) throws {
        let padding = try field.int(in: 0...1 << 20, default: other)
        guard padding + 1 < positions else {
            throw field.error("positions start at \(padding + 1), but there are \(positions)")
        }
        self.padding = padding
    }

    /// Fields of BERT and its descendants without effect on the outputs.
    static let inertFields = [
        InertFields(
            "of the first release, which no class reads",
            [
                "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                "pooler_size_per_head", "pooler_type",
            ])
    ]

    static let names = EncoderLayers.Names(
        query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
        output: "attention.output.dense", attentionNorm: "attention.output.LayerNorm", up: "intermediate.dense",
        down: "output.dense", feedForwardNorm: "output.LayerNorm")
}

extension SentencePooling {
    /// Reads modules.json, which turns a model into a sentence encoder; nil if the checkpoint has none.
    /// - Parameter generates: the model generates text where the transformer is listed alone.
    static func read(of checkpoint: Checkpoint, width: Int, generates: Bool = false) throws -> SentencePooling? {
        let pooling = try SentencePooling(of: checkpoint, generates: generates)
        try pooling?.check(hidden: width)
        return pooling
    }
}

extension JSONField {
    func int(in range: ClosedRange<Int>, default other: Int) throws -> Int { exists ? try int(in: range) : other }
    func bool(default other: Bool) throws -> Bool { exists ? try bool() : other }
    func double(default other: Double) throws -> Double { exists ? try double() : other }
    func string(default other: String) throws -> String { exists ? try string() : other }
}
