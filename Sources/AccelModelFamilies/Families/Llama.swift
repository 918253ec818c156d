import AccelByteIO
import AccelPrograms
import AccelTensors

/// Llama language models. See `DecoderGraph` for inputs, outputs and states.
struct Llama: ModelFamily {
    static let version = 4
    static let modelTypes = ["llama"]
    static let buildsSentencePooling = true
    static let architectures = ["LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        var config = try DecoderConfiguration(file, of: Self.architectures)
        let biased = try file["attention_bias"].bool(default: false)
        config.biases.queryKeyValue = biased
        config.biases.attentionOutput = biased
        config.biases.feedForward = try file["mlp_bias"].bool(default: false)
        let layer = DecoderConfiguration.Layer(window: nil, rotary: try config.rotary(file))
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }
}
