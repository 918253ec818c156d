import AccelByteIO
import AccelPrograms

/// BERT encoders: the bare model with pooler and sentence embedding, the masked language model, and the classifier.
struct Bert: BertFamily {
    static let modelTypes = ["bert"]
    static let classes: KeyValuePairs<String, BertHead> = [
        "BertModel": .model, "BertForMaskedLM": .maskedLM, "BertForSequenceClassification": .sequenceClassification,
        "BertForTokenClassification": .tokenClassification, "BertForQuestionAnswering": .questionAnswering,
        "BertForPreTraining": .pretraining, "BertForMultipleChoice": .multipleChoice,
    ]
    static let inertFields = BertConfiguration.inertFields
    static let names = BertNames(
        prefix: "bert.",
        words: .init(
            dense: "cls.predictions.transform.dense", norm: "cls.predictions.transform.LayerNorm",
            decoder: "cls.predictions.decoder", otherBias: "cls.predictions.bias"),
        labels: .init(dense: "pooler.dense", output: "classifier"))

    func configuration(_ file: JSONField) throws -> BertConfiguration { try BertConfiguration(file) }
}
