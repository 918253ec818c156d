import AccelByteIO
import AccelPrograms

/// RoBERTa and XLM-R: BERT with positions that count only tokens that are not padding, segments only if there are
/// several, and other heads.
struct Roberta: BertFamily {
    static let modelTypes = ["roberta", "xlm-roberta"]
    static let classes: KeyValuePairs<String, BertHead> = [
        "RobertaModel": .model, "RobertaForMaskedLM": .maskedLM,
        "RobertaForSequenceClassification": .sequenceClassification, "XLMRobertaModel": .model,
        "XLMRobertaForMaskedLM": .maskedLM, "XLMRobertaForSequenceClassification": .sequenceClassification,
    ]
    static let inertFields = BertConfiguration.inertFields
    static let names = BertNames(
        prefix: "roberta.",
        words: .init(
            dense: "lm_head.dense", norm: "lm_head.layer_norm", decoder: "lm_head.decoder", otherBias: "lm_head.bias",
            // In transformers this does not depend on the configuration.
            activation: Gelu(.erf)),
        labels: .init(dense: "classifier.dense", output: "classifier.out_proj"))

    func configuration(_ file: JSONField) throws -> BertConfiguration {
        let isMultilingual = try file["model_type"].string() == "xlm-roberta"
        var config = try BertConfiguration(file, fields: .init(vocabulary: isMultilingual ? 30522 : 50265))
        config.takesSegments = config.segments > 1
        try config.countPositions(over: file["pad_token_id"], default: 1)
        return config
    }
}
