import AccelByteIO
import AccelPrograms
import AccelTensors

/// Qwen 2 and 2.5 language models: the graph of Llama with biases on queries, keys and values.
struct Qwen2: ModelFamily {
    static let version = 4
    static let modelTypes = ["qwen2"]
    static let buildsSentencePooling = true
    static let architectures = ["Qwen2ForCausalLM", "Qwen2Model", "Qwen2ForSequenceClassification"]
    static let inertFields = [
        InertFields("queries, keys and values have biases whatever it says", ["attention_bias"])
    ]
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(keyHeads: 32, positions: 32768)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.biases.queryKeyValue = true
        try DecoderConfiguration.rejectBiases(file, "mlp_bias")
        config.layers = try QwenLayers.read(file, rotary: try config.rotary(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }
}
