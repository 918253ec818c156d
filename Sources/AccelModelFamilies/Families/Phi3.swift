import AccelByteIO
import AccelPrograms
import AccelTensors

/// Phi-3 language models: the graph of Llama with packed projections, an optional sliding window, and rotary embeddings
/// whose factors (short or long) depend on the cache length.
struct Phi3: ModelFamily {
    static let version = 4
    static let modelTypes = ["phi3"]
    static let buildsSentencePooling = true
    static let architectures = ["Phi3ForCausalLM", "Phi3Model", "Phi3ForSequenceClassification"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(epsilon: 1e-5, positions: 4096)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.packsProjections = true
        try DecoderConfiguration.rejectBiases(file, "attention_bias", "mlp_bias", "lm_head_bias")
        for name in ["full_attn_mod", "interpolate_factor"] where try file[name].double(default: 1) != 1 {
            throw file[name].error("only 1 is supported")
        }
        let rotary = try config.rotary(RotarySource.ofPhi3(file))
        let layer = DecoderConfiguration.Layer(
            window: try DecoderConfiguration.window(file, default: nil), rotary: rotary)
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }
}
