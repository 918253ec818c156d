import AccelByteIO
import AccelPrograms
import AccelTensors

/// BERT and its descendants: text encoders that differ in names, positions and heads.
///
/// Inputs: `input_ids`, `attention_mask`, and for models with segments `token_type_ids`, all I64[batch, sequence].
/// Outputs of the bare model: `last_hidden_state` F32[batch, sequence, width], `pooler_output` F32[batch, width] if the
/// checkpoint has a pooler, and `sentence_embedding`. Output of models with a head: `logits`, F32[batch, sequence, labels] for token
/// classification; `start_logits` and `end_logits`, F32[batch, sequence], for question answering; `prediction_logits` and
/// `seq_relationship_logits`, F32[batch, 2], for pretraining; for multiple choice `logits` F32[batch, choices], and all inputs are
/// I64[batch, choices, sequence].
protocol BertFamily: ModelFamily {
    /// The model classes of transformers, with the head of each.
    static var classes: KeyValuePairs<String, BertHead> { get }
    static var names: BertNames { get }
    func configuration(_ file: JSONField) throws -> BertConfiguration
    /// Returns the bias of the attention scores, F32, which broadcasts to [batch, heads, sequence, sequence]; nil for
    /// none.
    func attentionBias(_ config: BertConfiguration, in layers: inout LayerBuilder) throws -> Value?
}

enum BertHead {
    case model, maskedLM, pretraining, sequenceClassification, tokenClassification, questionAnswering, multipleChoice

    var role: FunctionRole {
        switch self {
        case .model: .encode
        case .maskedLM, .pretraining: .fillMask
        case .sequenceClassification, .tokenClassification, .questionAnswering, .multipleChoice: .classify
        }
    }

    /// Whether it scores labels or choices.
    var hasClassifier: Bool {
        self == .sequenceClassification || self == .tokenClassification || self == .multipleChoice
    }

    /// Whether it scores the words of the vocabulary.
    var scoresWords: Bool { self == .maskedLM || self == .pretraining }
}

/// The names of tensors in a descendant of BERT.
struct BertNames {
    /// The masked language modelling head.
    struct Words {
        var dense: String
        var norm: String
        var decoder: String
        /// A second name of the decoder's bias: checkpoints store it under one of the names, or both.
        var otherBias: String?
        /// nil for the activation of the configuration.
        var activation: (any Operator)?
    }
    /// The classification head, which reads the first token.
    struct Labels {
        var dense: String
        var activation: any Operator = Tanh()
        var output: String
    }
    /// The prefix of the bare model's names.
    var prefix: String
    var words: Words
    var labels: Labels
    /// The head that scores each of the choices; nil for the names of `labels`.
    var choices: Labels?

    /// Returns the prefixes of the tensors of all other heads.
    fileprivate func heads(otherThan head: BertHead) -> [String] {
        var names: [String] = []
        if head != .questionAnswering { names.append("qa_outputs") }
        if !head.scoresWords { names += [words.dense, words.norm, words.decoder] }
        if !head.hasClassifier { names += [labels.dense, labels.output] }
        return names.map { "\($0.prefix { $0 != "." })." }.filter { $0 != "pooler." }
            + (head == .pretraining ? [] : ["cls.seq_relationship."])
    }
}

extension BertFamily {
    static var version: Int { 3 }
    static var architectures: [String] { classes.map(\.key) }
    static var buildsSentencePooling: Bool { true }

    func attentionBias(_ config: BertConfiguration, in layers: inout LayerBuilder) throws -> Value? { nil }

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let stated = try checkpoint.configuration.architecture(of: Self.classes)
        let config = try configuration(checkpoint.configuration)
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width)
        // modules.json makes it a sentence encoder: then transformers loads the bare model, whatever class was saved.
        let (name, head) = pooling == nil ? stated : Self.classes[0]
        names.prefixes = [Self.names.prefix]
        names.explain("a default for an input, which the caller gives") { $0 == "embeddings.token_type_ids" }
        names.explain("\(name) does not read it") { $0 == "pooler.dense.weight" || $0 == "pooler.dense.bias" }
        let heads = Self.names.heads(otherThan: head)
        names.explain("belongs to a head that \(name) does not have") { heads.contains(where: $0.hasPrefix) }

        if head.scoresWords {
            names.tie(head: "\(Self.names.words.decoder).weight", words: BertGraph.words, isTied: config.tiesHead)
        }
        var graph = try BertGraph(
            config: config, head: head, longest: try SentencePooling.longestText(of: checkpoint), names: names)
        let hidden = try graph.encoder { try attentionBias(config, in: &$0) }
        switch head {
        case .model: try graph.outputModel(hidden, pooling)
        case .maskedLM:
            graph.layers.builder.output(
                "logits", try graph.words(hidden, Self.names.words), .logits(over: .vocabulary))
        case .pretraining:
            graph.layers.builder.output(
                "prediction_logits", try graph.words(hidden, Self.names.words), .logits(over: .vocabulary))
            graph.layers.builder.output(
                "seq_relationship_logits", try graph.nextSentence(hidden), .logits(over: .labels))
        case .sequenceClassification:
            graph.layers.builder.output(
                "logits", try graph.labels(hidden, Self.names.labels), .logits(over: .labels))
        case .multipleChoice:
            graph.layers.builder.output(
                "logits", try graph.choices(hidden, Self.names.choices ?? Self.names.labels), .logits(over: .choices))
        case .tokenClassification:
            graph.layers.builder.output("logits", try graph.tokenLabels(hidden), .logits(over: .labels))
        case .questionAnswering:
            for (name, bounds) in zip(["start_logits", "end_logits"], try graph.answer(hidden)) {
                graph.layers.builder.output(name, bounds, .logits(over: .positions))
            }
        }
        names = graph.layers.names
        return [try graph.layers.builder.finish()]
    }
}

extension JSONField {
    /// Returns the class that `architectures` names, with its meaning; the first class if the field is missing.
    /// - Throws: `RequestError` (unavailable) for an unknown class.
    func architecture<Meaning>(of classes: KeyValuePairs<String, Meaning>) throws -> (String, Meaning) {
        let name = try architecture(among: classes.map(\.key))
        let known = classes.first { $0.key == name } ?? classes[0]
        return (known.key, known.value)
    }
}
