import AccelByteIO
import AccelPackages
import AccelTensors

/// BERT and its descendants in CTranslate2, whose `Encoder` gives hidden states and the pooled first token.
struct CTranslate2Encoder: CTranslate2Family {
    /// The names of modules.
    struct Names {
        var layer = "encoder.layer"
        var attention = ["attention.self.query", "attention.self.key", "attention.self.value"]
        var output = "attention.output.dense"
        var attentionNorm = "attention.output.LayerNorm"
        var (up, down) = ("intermediate.dense", "output.dense")
        var norm = "output.LayerNorm"
        var (heads, activation) = ("num_attention_heads", "hidden_act")
    }

    let names: [String]
    let prefixes: [String]
    var modules = Names()
    /// Whether segments have embeddings.
    var hasSegments = true
    /// Whether positions are counted from the padding token's number on.
    var startsAtPadding = false

    static let all: [any CTranslate2Family] = [
        CTranslate2Encoder(names: ["bert"], prefixes: ["bert."]),
        CTranslate2Encoder(names: ["roberta"], prefixes: ["roberta."], startsAtPadding: true),
        CTranslate2Encoder(
            names: ["distilbert"], prefixes: ["distilbert."],
            modules: Names(
                layer: "transformer.layer", attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
                output: "attention.out_lin", attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2",
                norm: "output_layer_norm", heads: "n_heads", activation: "activation"),
            hasSegments: false),
    ]

    func lay(out draft: inout CTranslate2Draft, _ assets: [Asset]) throws -> [String] {
        draft.specification = ("TransformerEncoderSpec", 1)
        let config = draft.field
        for name in ["multi_query_attention", "pre_norm", "scale_embeddings"] {
            draft.set("encoder/\(name)", .flag(false))
        }
        draft.set("encoder/activation", try CTranslate2Activation.read(config[modules.activation], default: "gelu"))
        draft.set("encoder/embeddings_merge", .flag(hasSegments))
        let heads = config[modules.heads]
        try draft.set("encoder/num_heads", heads: heads.exists ? heads.int(in: 1...Int(Int16.max)) : 12)

        let words = "embeddings.word_embeddings.weight"
        try draft.add("encoder/embeddings_0/weight", words, rank: 2)
        if hasSegments {
            try draft.add("encoder/embeddings_1/weight", "embeddings.token_type_embeddings.weight", rank: 2)
        }
        try draft.add(
            "encoder/position_encodings/encodings", "embeddings.position_embeddings.weight", rank: 2,
            from: try firstPosition(config))
        try draft.norm("encoder/layernorm_embedding", "embeddings.LayerNorm")
        for index in 0..<draft.layerCount({ "\(modules.layer).\($0).\(modules.up).weight" }) {
            try layer("encoder/layer_\(index)", "\(modules.layer).\(index)", &draft)
        }
        try pooler(&draft)
        draft.members = [
            "bos_token": "<s>", "eos_token": "</s>", "multi_query_attention": false,
            "layer_norm_epsilon": .number(
                try hasSegments && config["layer_norm_eps"].exists ? config["layer_norm_eps"].double() : 1e-12),
            "unk_token": draft.tokenizer.special("unk_token", family: names[0]),
        ]
        let count = try draft.take(words, rank: 2).shape.dimensions[0]
        return try draft.tokenizer.vocabulary(count) { "<extra_id_\($0)>" }
    }

    private func layer(_ name: String, _ module: String, _ draft: inout CTranslate2Draft) throws {
        let attention = modules.attention.map { "\(module).\($0)" }
        try draft.linear("\(name)/self_attention/linear_0", attention[0], attention[1], attention[2])
        try draft.linear("\(name)/self_attention/linear_1", "\(module).\(modules.output)")
        try draft.norm("\(name)/self_attention/layer_norm", "\(module).\(modules.attentionNorm)")
        try draft.linear("\(name)/ffn/linear_0", "\(module).\(modules.up)")
        try draft.linear("\(name)/ffn/linear_1", "\(module).\(modules.down)")
        try draft.norm("\(name)/ffn/layer_norm", "\(module).\(modules.norm)")
    }

    /// Adds the pooler, which CTranslate2 does not write for XLM-R.
    private func pooler(_ draft: inout CTranslate2Draft) throws {
        let kind = try draft.field["model_type"].exists ? draft.field["model_type"].string() : ""
        guard hasSegments, kind != "xlm-roberta" else { return }
        guard draft.has("pooler.dense.weight") else {
            draft.remarks.append("the model has no pooler: CTranslate2's Encoder gives hidden states alone")
            return
        }
        try draft.linear("pooler_dense", "pooler.dense")
        draft.set("pooler_activation", CTranslate2Activation.tanh)
    }

    private func firstPosition(_ config: JSONField) throws -> Int {
        guard startsAtPadding else { return 0 }
        return try 1 + (config["pad_token_id"].exists ? config["pad_token_id"].int(in: 0...1 << 20) : 1)
    }
}
