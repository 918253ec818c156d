import ByteIO
public import Programs
public import Tensors

/// BERT encoders: the bare model with pooler and sentence embedding, the masked language model, the classifier.
///
/// Inputs: `input_ids`, `attention_mask`, `token_type_ids`, all I64[batch, sequence]. Outputs: of the model
/// `last_hidden_state` F32[batch, sequence, width], `pooler_output` F32[batch, width] where the checkpoint has a pooler,
/// and `sentence_embedding`; of the others `logits`.
public struct Bert: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "BertModel"
        case maskedLM = "BertForMaskedLM"
        case sequenceClassification = "BertForSequenceClassification"
    }
    public static let modelTypes = ["bert"]
    public static let architectures = Architecture.allCases.map(\.rawValue)
    public init() {}
    public let parts = ["model"]

    public func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let stated = try checkpoint.configuration.architecture(default: Architecture.model)
        let config = try BertConfiguration(checkpoint.configuration)
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width)
        // Where modules.json makes it a sentence encoder, its framework loads the bare model, whatever was saved.
        let architecture = pooling == nil ? stated : .model
        names.prefixes = ["bert."]
        names.explain("positions 0, 1, 2, ..., which need no table") { $0 == "embeddings.position_ids" }
        names.explain("a default for an input, which the caller gives") { $0 == "embeddings.token_type_ids" }
        names.explain("\(architecture.rawValue) does not read it") { $0.hasPrefix("pooler.") }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") {
            $0.hasPrefix("cls.") || $0.hasPrefix("classifier.") || $0.hasPrefix("qa_outputs.")
        }

        var graph = BertGraph(config: config, names: names)
        let hidden = try graph.encoder()
        switch architecture {
        case .model:
            try graph.outputModel(hidden, pooling)
        case .maskedLM:
            let head = "cls.predictions"
            let logits = try graph.maskedLMHead(
                hidden, dense: "\(head).transform.dense", activation: config.activation,
                norm: "\(head).transform.LayerNorm", decoder: "\(head).decoder", otherBias: "\(head).bias")
            graph.layers.builder.output("logits", logits)
        case .sequenceClassification:
            let pooled = try graph.pooler(hidden)
            graph.layers.builder.output(
                "logits", try graph.layers.linear("classifier", pooled, from: config.width, to: config.labels))
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}
