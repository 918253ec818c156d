import ByteIO
public import Programs
public import Tensors

/// RoBERTa and XLM-R: BERT with positions counted over the tokens that are not padding, and heads of their own.
///
/// Inputs: `input_ids`, `attention_mask`, and `token_type_ids` where there is more than one type, all I64[batch, sequence].
/// Outputs: as BERT's.
public struct Roberta: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "RobertaModel"
        case maskedLM = "RobertaForMaskedLM"
        case sequenceClassification = "RobertaForSequenceClassification"
        case multilingual = "XLMRobertaModel"
        case multilingualMaskedLM = "XLMRobertaForMaskedLM"
        case multilingualSequenceClassification = "XLMRobertaForSequenceClassification"
    }
    public static let modelTypes = ["roberta", "xlm-roberta"]
    public static let architectures = Architecture.allCases.map(\.rawValue)
    public init() {}
    public let parts = ["model"]

    public func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let stated = try file.architecture(default: Architecture.model)
        let isMultilingual = try file["model_type"].string() == "xlm-roberta"
        var config = try BertConfiguration(
            file, fields: BertConfiguration.Fields(vocabulary: isMultilingual ? 30522 : 50265))
        config.takesSegments = config.segments > 1
        let padding = try file["pad_token_id"].int(in: 0...1 << 20, default: 1)
        guard padding + 1 < config.positions else {
            throw file["pad_token_id"].error("positions start at \(padding + 1), but there are \(config.positions)")
        }
        config.padding = padding
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width)
        let architecture = pooling == nil ? stated : .model
        names.prefixes = ["roberta."]
        names.explain("positions 0, 1, 2, ..., which need no table") { $0 == "embeddings.position_ids" }
        names.explain("a default for an input, which the caller gives") { $0 == "embeddings.token_type_ids" }
        names.explain("\(architecture.rawValue) does not read it") { $0.hasPrefix("pooler.") }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") {
            $0.hasPrefix("lm_head.") || $0.hasPrefix("classifier.") || $0.hasPrefix("qa_outputs.")
        }

        var graph = BertGraph(config: config, names: names)
        let hidden = try graph.encoder()
        switch architecture {
        case .model, .multilingual:
            try graph.outputModel(hidden, pooling)
        case .maskedLM, .multilingualMaskedLM:
            // The head has this activation whatever the configuration says.
            let logits = try graph.maskedLMHead(
                hidden, dense: "lm_head.dense", activation: Gelu(.erf), norm: "lm_head.layer_norm",
                decoder: "lm_head.decoder", otherBias: "lm_head.bias")
            graph.layers.builder.output("logits", logits)
        case .sequenceClassification, .multilingualSequenceClassification:
            let pooled = try graph.pooler(hidden, "classifier.dense")
            let logits = try graph.layers.linear(
                "classifier.out_proj", pooled, from: config.width, to: config.labels)
            graph.layers.builder.output("logits", logits)
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}
