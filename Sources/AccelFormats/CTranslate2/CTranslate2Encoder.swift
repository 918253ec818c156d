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

    static let bert = CTranslate2Encoder(names: ["bert"], prefixes: ["bert."])
    static let roberta = CTranslate2Encoder(names: ["roberta"], prefixes: ["roberta."], startsAtPadding: true)
    static let distilbert = CTranslate2Encoder(
        names: ["distilbert"], prefixes: ["distilbert."],
        modules: Names(
            layer: "transformer.layer", attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
            output: "attention.out_lin", attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2",
            norm: "output_layer_norm", heads: "n_heads", activation: "activation"),
        hasSegments: false)
    static let all = [bert, roberta, distilbert]

    /// The variables, without those that only some models have.
    var layout: CTranslate2Layout {
        CTranslate2Layout(
            entries: [
                .tensor("encoder/embeddings_0/weight", "embeddings.word_embeddings.weight", rank: 2),
                .norm("encoder/layernorm_embedding", "embeddings.LayerNorm"),
            ]
                + (hasSegments
                    ? [.tensor("encoder/embeddings_1/weight", "embeddings.token_type_embeddings.weight", rank: 2)]
                    : []),
            stacks: [
                CTranslate2Layout.Stack(
                    variables: "encoder/layer_", modules: modules.layer, mark: "\(modules.up).weight",
                    entries: [
                        .linear("self_attention/linear_0", modules.attention),
                        .linear("self_attention/linear_1", [modules.output]),
                        .norm("self_attention/layer_norm", modules.attentionNorm),
                        .linear("ffn/linear_0", [modules.up]), .linear("ffn/linear_1", [modules.down]),
                        .norm("ffn/layer_norm", modules.norm),
                    ])
            ])
    }
    static let pooler = CTranslate2Layout.Entry.linear("pooler_dense", ["pooler.dense"])
    static let positions = ("encoder/position_encodings/encodings", "embeddings.position_embeddings.weight")

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

        try draft.add(layout)
        try draft.add(Self.positions.0, Self.positions.1, rank: 2, from: try firstPosition(config))
        try pooler(&draft)
        draft.members = [
            "bos_token": "<s>", "eos_token": "</s>", "multi_query_attention": false,
            "layer_norm_epsilon": .number(
                try hasSegments && config["layer_norm_eps"].exists ? config["layer_norm_eps"].double() : 1e-12),
            "unk_token": draft.tokenizer.special("unk_token", family: names[0]),
        ]
        let count = try draft.take("embeddings.word_embeddings.weight", rank: 2).shape.dimensions[0]
        return try draft.tokenizer.vocabulary(count) { "<extra_id_\($0)>" }
    }

    /// Adds the pooler, which CTranslate2 does not write for XLM-R.
    private func pooler(_ draft: inout CTranslate2Draft) throws {
        let kind = try draft.field["model_type"].exists ? draft.field["model_type"].string() : ""
        guard hasSegments, kind != "xlm-roberta" else { return }
        guard draft.has("pooler.dense.weight") else {
            draft.remarks.append("the model has no pooler: CTranslate2's Encoder gives hidden states alone")
            return
        }
        try draft.add(CTranslate2Layout(entries: [Self.pooler]))
        draft.set("pooler_activation", CTranslate2Activation.tanh)
    }

    private func firstPosition(_ config: JSONField) throws -> Int {
        guard startsAtPadding else { return 0 }
        return try 1 + (config["pad_token_id"].exists ? config["pad_token_id"].int(in: 0...1 << 20) : 1)
    }
}
