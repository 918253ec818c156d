import AccelByteIO
import AccelPrograms
import AccelTensors

/// Mistral language models: the graph of Llama, with a sliding window in every layer if the configuration has one.
struct Mistral: ModelFamily {
    static let version = 4
    static let modelTypes = ["mistral"]
    static let buildsSentencePooling = true
    static let architectures = ["MistralForCausalLM", "MistralModel", "MistralForSequenceClassification"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(keyHeads: 8, positions: 4096 * 32)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        try DecoderConfiguration.rejectBiases(file, "attention_bias", "mlp_bias")
        let layer = DecoderConfiguration.Layer(
            window: try DecoderConfiguration.window(file, default: 4096), rotary: try config.rotary(file))
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }
}
