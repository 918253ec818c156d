import AccelByteIO
import AccelPrograms

/// DistilBERT: BERT without segments and pooler, with other tensor names.
struct DistilBert: BertFamily {
    static let modelTypes = ["distilbert"]
    static let classes: KeyValuePairs<String, BertHead> = [
        "DistilBertModel": .model, "DistilBertForMaskedLM": .maskedLM,
        "DistilBertForSequenceClassification": .sequenceClassification,
        "DistilBertForTokenClassification": .tokenClassification, "DistilBertForQuestionAnswering": .questionAnswering,
        "DistilBertForMultipleChoice": .multipleChoice,
    ]
    static let inertFields = [
        InertFields("says how the table of positions began; it is stored", ["sinusoidal_pos_embds"]),
        InertFields("of the first release, which no class reads", ["tie_weights_"]),
    ]
    static let names = BertNames(
        prefix: "distilbert.",
        words: .init(dense: "vocab_transform", norm: "vocab_layer_norm", decoder: "vocab_projector"),
        labels: .init(dense: "pre_classifier", activation: Relu(), output: "classifier"))

    func configuration(_ file: JSONField) throws -> BertConfiguration {
        let fields = BertConfiguration.Fields(
            width: "dim", layers: "n_layers", heads: "n_heads", intermediate: "hidden_dim", activation: "activation",
            segments: nil, epsilon: nil, layerCount: 6)
        let layerNames = EncoderLayers.Names(
            query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", output: "attention.out_lin",
            attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", feedForwardNorm: "output_layer_norm")
        var config = try BertConfiguration(file, fields: fields, names: layerNames)
        // Names that transformers accepts for the same fields.
        for (name, field) in [
            ("hidden_size", "dim"), ("num_hidden_layers", "n_layers"), ("num_attention_heads", "n_heads"),
        ] {
            try file.requireEqual(name, to: field)
        }
        config.layerName = "transformer.layer"
        return config
    }
}
