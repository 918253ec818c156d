import ByteIO
import Programs
import Tensors

/// Gemma language models of the first generation: llama's graph with gains stored as what they are above 1, and scaled
/// word embeddings.
struct Gemma: ModelFamily {
    static let modelTypes = ["gemma"]
    static let architectures = ["GemmaForCausalLM", "GemmaModel"]
    let parts = ["decoder"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        try file.refuse([
            (
                "use_bidirectional_attention", try file["use_bidirectional_attention"].bool(default: false),
                "attention to what comes after"
            )
        ])
        // The released configurations say "gelu" and mean the one by tanh, unless a later field says otherwise.
        let isEarly = try file["hidden_act"].exists && file["hidden_act"].string() == "gelu"
        let defaults = DecoderConfiguration.Defaults(
            keyHeads: 16, headWidth: 256,
            activation: (isEarly ? "hidden_activation" : "hidden_act", "gelu_pytorch_tanh"), tiesHead: true,
            positions: 8192)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.gainsStartAtOne = true
        config.embeddingScale = Float(Double(config.width).squareRoot())
        let biased = try file["attention_bias"].bool(default: false)
        config.biases.queryKeyValue = biased
        config.biases.attentionOutput = biased
        let layer = DecoderConfiguration.Layer(window: nil, rotary: try config.rotary(file))
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return [try DecoderGraph.program(config, names: &names)]
    }
}
