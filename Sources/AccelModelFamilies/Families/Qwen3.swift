import AccelByteIO
import AccelPrograms
import AccelTensors

/// Qwen 3 language models: the graph of Llama with per-head norms of queries and keys.
struct Qwen3: ModelFamily {
    static let version = 4
    static let modelTypes = ["qwen3"]
    static let buildsSentencePooling = true
    static let architectures = ["Qwen3ForCausalLM", "Qwen3Model", "Qwen3ForSequenceClassification"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(keyHeads: 32, headWidth: 128, positions: 32768)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.normalisesQueriesAndKeys = true
        let biased = try file["attention_bias"].bool(default: false)
        config.biases.queryKeyValue = biased
        config.biases.attentionOutput = biased
        try DecoderConfiguration.rejectBiases(file, "mlp_bias")
        config.layers = try QwenLayers.read(file, rotary: try config.rotary(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }
}
