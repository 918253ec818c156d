import AccelByteIO
import AccelPrograms
import AccelTensors

import func AccelPlatform.log

/// MPNet, the most common base of sentence encoders: the graph of RoBERTa with relative position biases in the
/// attention scores.
struct MPNet: BertFamily {
    static let modelTypes = ["mpnet"]
    static let classes: KeyValuePairs<String, BertHead> = [
        "MPNetModel": .model, "MPNetForMaskedLM": .maskedLM, "MPNetForSequenceClassification": .sequenceClassification,
        "MPNetForTokenClassification": .tokenClassification, "MPNetForQuestionAnswering": .questionAnswering,
        "MPNetForMultipleChoice": .multipleChoice,
    ]
    static let inertFields =
        BertConfiguration.inertFields + [InertFields("the model has no segments", ["type_vocab_size"])]
    static let names = BertNames(
        prefix: "mpnet.",
        words: .init(
            dense: "lm_head.dense", norm: "lm_head.layer_norm", decoder: "lm_head.decoder", otherBias: "lm_head.bias",
            activation: Gelu(.erf)),
        labels: .init(dense: "classifier.dense", output: "classifier.out_proj"),
        choices: .init(dense: "pooler.dense", output: "classifier"))

    func configuration(_ file: JSONField) throws -> BertConfiguration {
        let layerNames = EncoderLayers.Names(
            query: "attention.attn.q", key: "attention.attn.k", value: "attention.attn.v", output: "attention.attn.o",
            attentionNorm: "attention.LayerNorm", up: "intermediate.dense", down: "output.dense",
            feedForwardNorm: "output.LayerNorm")
        var config = try BertConfiguration(
            file, fields: .init(segments: nil, vocabulary: 30527), names: layerNames)
        try config.countPositions(over: JSONField(nil, file: file.file), default: 1)
        // transformers always uses this number, whatever the configuration says.
        let buckets = file["relative_attention_num_buckets"]
        guard try buckets.int(in: 1...1 << 16, default: Self.buckets) == Self.buckets else {
            throw buckets.error("only \(Self.buckets) buckets of distances are supported")
        }
        return config
    }

    private static let buckets = 32

    /// Distances fall into buckets, in separate sets for each direction; each bucket has one score per head.
    func attentionBias(_ config: BertConfiguration, in layers: inout LayerBuilder) throws -> Value? {
        let (name, longest) = ("encoder.relative_attention_bias", config.longest)
        let scores = try layers.weight("\(name).weight", [Self.buckets, config.encoder.heads])
        return try layers.in(name) { layers in
            let numbers = (1 - longest..<longest).map { Int64(Self.bucket(of: $0)) }
            let buckets = layers.builder.literal(HostTensor(numbers, [numbers.count]), name: "buckets")
            let queries = try layers.positions("sequence", largest: longest)
            let keys = try layers.apply(Reshape(to: [1, "sequence"]), queries)
            let distances = try layers.apply(
                Add(), try layers.apply(Subtract(), keys, queries), layers.builder.literal(Float(longest - 1)))
            let rows = try layers.apply(Gather(), buckets, try layers.apply(Cast(to: .int64), distances))
            return try layers.apply(Transpose([2, 0, 1]), try layers.apply(Gather(), scores, rows))
        }
    }

    /// Returns the bucket of a distance: one per distance up to 7, then of growing width up to 128.
    private static func bucket(of distance: Int) -> Int {
        let (half, exact, size) = (buckets / 2, buckets / 4, abs(distance))
        let wide = Float(log(Float(size) / Float(exact))) / Float(log(128 / Double(exact))) * Float(half - exact)
        return (distance > 0 ? half : 0) + (size < exact ? size : min(exact + Int(wide), half - 1))
    }
}
