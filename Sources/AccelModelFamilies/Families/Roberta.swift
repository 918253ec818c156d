import AccelByteIO
import AccelPrograms

/// RoBERTa, XLM-R and CamemBERT: BERT with positions that count only tokens that are not padding, segments only if there are
/// several, and other heads.
struct Roberta: BertFamily {
    static let modelTypes = ["roberta", "xlm-roberta", "camembert"]
    static let classes: KeyValuePairs<String, BertHead> = [
        "RobertaModel": .model, "RobertaForMaskedLM": .maskedLM,
        "RobertaForSequenceClassification": .sequenceClassification,
        "RobertaForTokenClassification": .tokenClassification, "RobertaForQuestionAnswering": .questionAnswering,
        "RobertaForMultipleChoice": .multipleChoice,
        "XLMRobertaModel": .model,
        "XLMRobertaForMaskedLM": .maskedLM, "XLMRobertaForSequenceClassification": .sequenceClassification,
        "XLMRobertaForTokenClassification": .tokenClassification, "XLMRobertaForQuestionAnswering": .questionAnswering,
        "XLMRobertaForMultipleChoice": .multipleChoice,
        "CamembertModel": .model, "CamembertForMaskedLM": .maskedLM,
        "CamembertForSequenceClassification": .sequenceClassification,
        "CamembertForTokenClassification": .tokenClassification, "CamembertForQuestionAnswering": .questionAnswering,
        "CamembertForMultipleChoice": .multipleChoice,
    ]
    static let inertFields = BertConfiguration.inertFields
    static let names = BertNames(
        prefix: "roberta.",
        words: .init(
            dense: "lm_head.dense", norm: "lm_head.layer_norm", decoder: "lm_head.decoder", otherBias: "lm_head.bias",
            // In transformers this does not depend on the configuration.
            activation: Gelu(.erf)),
        labels: .init(dense: "classifier.dense", output: "classifier.out_proj"),
        choices: .init(dense: "pooler.dense", output: "classifier"))

    func configuration(_ file: JSONField) throws -> BertConfiguration {
        let isRoberta = try file["model_type"].string(default: "roberta") == "roberta"
        var config = try BertConfiguration(file, fields: .init(vocabulary: isRoberta ? 50265 : 30522))
        config.takesSegments = config.segments > 1
        try config.countPositions(over: file["pad_token_id"], default: 1)
        return config
    }
}
