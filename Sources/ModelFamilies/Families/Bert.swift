import ByteIO
public import Programs
public import Tensors

/// BERT encoders: the bare model with pooler and sentence embedding, the masked language model, the classifier.
///
/// Inputs: `input_ids`, `attention_mask`, `token_type_ids`, all I64[batch, sequence]. Outputs: of the model
/// `last_hidden_state` F32[batch, sequence, width], `pooler_output` F32[batch, width] where the checkpoint has a pooler,
/// and `sentence_embedding`; of the others `logits`.
public struct Bert: ModelFamily {
    public static let modelTypes = ["bert"]
    public static let architectures = BertConfiguration.Architecture.allCases.map(\.rawValue)
    public init() {}
    public let parts = ["model"]

    public func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try BertConfiguration(checkpoint.configuration)
        let pooling = try SentencePooling(of: checkpoint)
        // Where modules.json makes it a sentence encoder, its framework loads the bare model, whatever was saved.
        let architecture = pooling == nil ? config.architecture : .model
        if let pooling, let width = pooling.width, width.number != config.width {
            throw width.field.error("\(width.number) is not hidden_size \(config.width)")
        }
        names.prefixes = ["bert."]
        names.explain("positions 0, 1, 2, ..., which need no table") { $0 == "embeddings.position_ids" }
        names.explain("a default for an input, which the caller gives") { $0 == "embeddings.token_type_ids" }
        names.explain("\(architecture.rawValue) does not read it") { $0.hasPrefix("pooler.") }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") {
            $0.hasPrefix("cls.") || $0.hasPrefix("classifier.") || $0.hasPrefix("qa_outputs.")
        }

        let usual = Set([min(128, config.positions), config.positions]).sorted()
        var graph = BertGraph(
            config: config,
            layers: LayerBuilder(
                builder: ProgramBuilder(
                    name: "model",
                    dimensions: [
                        Program.FreeDimension("batch", usual: [1, 8]),
                        Program.FreeDimension("sequence", usual: usual, maximum: config.positions),
                    ]),
                names: names))
        let hidden = try graph.encoder()
        switch architecture {
        case .model:
            graph.layers.builder.output("last_hidden_state", hidden)
            if graph.layers.names.find("pooler.dense.weight") != nil {
                graph.layers.builder.output("pooler_output", try graph.pooler(hidden))
            }
            let embedding = try (pooling ?? .mean).apply(
                to: hidden, mask: graph.mask, positions: config.positions, in: &graph.layers)
            graph.layers.builder.output("sentence_embedding", embedding)
        case .maskedLM:
            graph.layers.builder.output("logits", try graph.maskedLMHead(hidden))
        case .sequenceClassification:
            let pooled = try graph.pooler(hidden)
            graph.layers.builder.output(
                "logits", try graph.layers.linear("classifier", pooled, from: config.width, to: config.labels))
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}
