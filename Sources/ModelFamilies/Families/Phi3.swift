import ByteIO
import Programs
import Tensors

/// Phi-3 language models: llama's graph with packed projections, perhaps a sliding window, and rotary embeddings whose
/// factors (short or long) follow from the length of the cache.
struct Phi3: ModelFamily {
    static let modelTypes = ["phi3"]
    static let architectures = ["Phi3ForCausalLM", "Phi3Model"]
    let parts = ["decoder"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(epsilon: 1e-5, positions: 4096)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.packsProjections = true
        let rotary = try config.rotary(file, aliases: ["su": "longrope", "yarn": "longrope"])
        let layer = DecoderConfiguration.Layer(
            window: try DecoderConfiguration.window(file, default: nil), rotary: rotary)
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return [try DecoderGraph.program(config, names: &names)]
    }
}
