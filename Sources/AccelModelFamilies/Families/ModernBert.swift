import AccelByteIO
import AccelPrograms
import AccelTensors

/// ModernBERT: norms before the layers, rotary positions, gated feed-forward networks, and sliding windows in most
/// layers.
///
/// Inputs: `input_ids` and `attention_mask`, both I64[batch, sequence]. Outputs of the bare model: `last_hidden_state`
/// F32[batch, sequence, width] and `sentence_embedding`. Models with a head have the inputs and outputs of `BertFamily`.
struct ModernBert: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "ModernBertModel"
        case maskedLM = "ModernBertForMaskedLM"
        case sequenceClassification = "ModernBertForSequenceClassification"
        case tokenClassification = "ModernBertForTokenClassification"
        case questionAnswering = "ModernBertForQuestionAnswering"
        case multipleChoice = "ModernBertForMultipleChoice"

        var role: FunctionRole {
            switch self {
            case .model: .encode
            case .maskedLM: .fillMask
            case .sequenceClassification, .tokenClassification, .questionAnswering, .multipleChoice: .classify
            }
        }
    }
    static let version = 3
    static let modelTypes = ["modernbert"]
    static let buildsSentencePooling = true
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let inertFields = [
        InertFields(
            "belongs to training",
            [
                "initializer_cutoff_factor", "sparse_prediction", "sparse_pred_ignore_index",
                "repad_logits_with_grad",
            ]),
        InertFields("says how to compute the same", ["deterministic_flash_attn", "reference_compile"]),
        InertFields(
            "of BERT, in the released configurations; norm_eps and rotary positions count",
            ["layer_norm_eps", "position_embedding_type"]),
    ]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let stated = try file.architecture(default: Architecture.model)
        let config = try ModernBertConfiguration(file)
        let width = config.encoder.width
        let pooling = try SentencePooling.read(of: checkpoint, width: width)
        let architecture = pooling == nil ? stated : .model
        names.prefixes = ["model."]
        let heads =
            switch architecture {
            case .model: ["head.", "decoder.", "classifier."]
            case .maskedLM: ["classifier."]
            default: ["decoder."]
            }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") { name in
            heads.contains(where: name.hasPrefix)
        }
        if architecture == .maskedLM {
            names.tie(head: ModernBertGraph.decoder, words: ModernBertGraph.tokens, isTied: config.tiesHead)
        }
        var graph = try ModernBertGraph(config: config, architecture, names: names)
        let hidden = try graph.encoded()
        switch architecture {
        case .model:
            graph.layers.builder.output("last_hidden_state", hidden, .hiddenStates)
            let embedding = try (pooling ?? .mean).apply(
                to: hidden, mask: graph.mask, positions: config.positions, in: &graph.layers)
            graph.layers.builder.output("sentence_embedding", embedding, .embedding)
        case .maskedLM:
            graph.layers.builder.output(
                "logits", try graph.words(try graph.head(hidden)), .logits(over: .vocabulary))
        case .sequenceClassification:
            let logits = try graph.scores(try graph.pooled(hidden), count: config.labels)
            graph.layers.builder.output("logits", logits, .logits(over: .labels))
        case .tokenClassification:
            graph.layers.builder.output(
                "logits", try graph.scores(hidden, count: config.labels), .logits(over: .labels))
        case .questionAnswering:
            let scores = try graph.scores(hidden, count: 2)
            for (name, bounds) in zip(["start_logits", "end_logits"], try graph.layers.columns(of: scores, count: 2)) {
                graph.layers.builder.output(name, bounds, .logits(over: .positions))
            }
        case .multipleChoice:
            graph.layers.builder.output("logits", try graph.choices(hidden), .logits(over: .choices))
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}

/// The checked configuration of ModernBERT models.
struct ModernBertConfiguration {
    var encoder: EncoderLayers
    /// For each layer, whether it attends to all tokens.
    let seesAll: [Bool]
    /// The distance that a layer with a window attends to in either direction.
    let reach: Int
    let globalBase: Double
    let localBase: Double
    let vocabulary: Int
    let positions: Int
    let headActivation: any Operator
    let biases: (norm: Bool, attention: Bool, feedForward: Bool, decoder: Bool, head: Bool)
    let tiesHead: Bool
    let poolsMean: Bool
    let labels: Int

    init(_ config: JSONField) throws {
        let width = try config["hidden_size"].int(in: 1...1 << 16, default: 768)
        let heads = try config["num_attention_heads"].int(in: 1...1 << 16, default: 12)
        guard width % heads == 0, width / heads % 2 == 0 else {
            throw config["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width) evenly")
        }
        encoder = EncoderLayers(
            width: width, heads: heads,
            intermediate: try config["intermediate_size"].int(in: 1...1 << 20, default: 1152),
            epsilon: try config.epsilon("norm_eps", default: 1e-5),
            activation: try HiddenActivation.read(config["hidden_activation"], default: "gelu"), normsFirst: true,
            length: "sequence")
        let count = try config["num_hidden_layers"].int(in: 1...1000, default: 22)
        let every = try config["global_attn_every_n_layers"].int(in: 1...1000, default: 3)
        seesAll = try config.slidingLayers(count) { $0 % every != 0 }.map { !$0 }
        reach = try config["local_attention"].int(in: 1...1 << 20, default: 128) / 2
        globalBase = try Self.base(config, "full_attention", old: "global_rope_theta", default: 160_000)
        localBase = try Self.base(config, "sliding_attention", old: "local_rope_theta", default: 10_000)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 50368)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 20, default: 8192)
        headActivation = try HiddenActivation.read(config["classifier_activation"], default: "gelu")
        biases = (
            try config["norm_bias"].bool(default: false), try config["attention_bias"].bool(default: false),
            try config["mlp_bias"].bool(default: false), try config["decoder_bias"].bool(default: true),
            try config["classifier_bias"].bool(default: false)
        )
        tiesHead = try config["tie_word_embeddings"].bool(default: true)
        let pooling = try config["classifier_pooling"].string(default: "cls")
        guard ["cls", "mean"].contains(pooling) else {
            throw config["classifier_pooling"].error("expected \"cls\" or \"mean\", found \(quoted(pooling))")
        }
        poolsMean = pooling == "mean"
        labels = try config.labelCount()
    }

    private static func base(
        _ config: JSONField, _ kind: String, old: String, default other: Double
    ) throws -> Double {
        let (parameters, outside) = (config["rope_parameters"][kind], config[old])
        let type = try parameters["rope_type"].string(default: try parameters["type"].string(default: "default"))
        try config.reject([
            ("rope_parameters.\(kind).rope_type", type != "default", "a rotary embedding other than \"default\"")
        ])
        let field = parameters["rope_theta"].exists ? parameters["rope_theta"] : outside
        let base = field.exists ? try field.double() : other
        guard base > 0, base.isFinite else { throw field.error("\(base) is not a valid base of frequencies") }
        return base
    }
}
