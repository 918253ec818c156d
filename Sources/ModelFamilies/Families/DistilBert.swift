import ByteIO
public import Programs
public import Tensors

/// DistilBERT: BERT without segments and pooler, under names of its own.
///
/// Inputs: `input_ids` and `attention_mask`, both I64[batch, sequence]. Outputs: of the model `last_hidden_state`
/// F32[batch, sequence, width] and `sentence_embedding`; of the others `logits`.
public struct DistilBert: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "DistilBertModel"
        case maskedLM = "DistilBertForMaskedLM"
        case sequenceClassification = "DistilBertForSequenceClassification"
    }
    public static let modelTypes = ["distilbert"]
    public static let architectures = Architecture.allCases.map(\.rawValue)
    public init() {}
    public let parts = ["model"]

    private static let layerNames = EncoderLayers.Names(
        query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", output: "attention.out_lin",
        attentionNorm: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", feedForwardNorm: "output_layer_norm")

    public func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let stated = try checkpoint.configuration.architecture(default: Architecture.model)
        let fields = BertConfiguration.Fields(
            width: "dim", layers: "n_layers", heads: "n_heads", intermediate: "hidden_dim", activation: "activation",
            segments: nil, epsilon: nil)
        var config = try BertConfiguration(checkpoint.configuration, fields: fields, names: Self.layerNames)
        config.layerName = "transformer.layer"
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width)
        let architecture = pooling == nil ? stated : .model
        names.prefixes = ["distilbert."]
        names.explain("positions 0, 1, 2, ..., which need no table") { $0 == "embeddings.position_ids" }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") { name in
            ["vocab_", "pre_classifier.", "classifier.", "qa_outputs."].contains(where: name.hasPrefix)
        }

        var graph = BertGraph(config: config, names: names)
        let hidden = try graph.encoder()
        switch architecture {
        case .model:
            try graph.outputModel(hidden, pooling)
        case .maskedLM:
            let logits = try graph.maskedLMHead(
                hidden, dense: "vocab_transform", activation: config.activation, norm: "vocab_layer_norm",
                decoder: "vocab_projector", otherBias: nil)
            graph.layers.builder.output("logits", logits)
        case .sequenceClassification:
            let pooled = try graph.pooler(hidden, "pre_classifier", activation: Relu())
            graph.layers.builder.output(
                "logits", try graph.layers.linear("classifier", pooled, from: config.width, to: config.labels))
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}
