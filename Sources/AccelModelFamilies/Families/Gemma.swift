import AccelByteIO
import AccelPrograms
import AccelTensors

/// Gemma language models of the first generation: the graph of Llama with scaled word embeddings; checkpoints store the
/// gains of norms minus 1.
struct Gemma: ModelFamily {
    static let version = 4
    static let modelTypes = ["gemma"]
    static let buildsSentencePooling = true
    static let architectures = ["GemmaForCausalLM", "GemmaModel", "GemmaForSequenceClassification"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        try file.reject([
            (
                "use_bidirectional_attention", try file["use_bidirectional_attention"].bool(default: false),
                "attention to what comes after"
            )
        ])
        let defaults = DecoderConfiguration.Defaults(
            keyHeads: 16, headWidth: 256, activation: ("hidden_act", Self.activation), tiesHead: true, positions: 8192)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        config.activation = try Self.activation(file)
        config.gainsStartAtOne = true
        config.embeddingScale = Float(Double(config.width).squareRoot())
        let biased = try file["attention_bias"].bool(default: false)
        config.biases.queryKeyValue = biased
        config.biases.attentionOutput = biased
        let layer = DecoderConfiguration.Layer(window: nil, rotary: try config.rotary(file))
        config.layers = Array(repeating: layer, count: try DecoderConfiguration.layerCount(file))
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }

    private static let activation = "gelu_pytorch_tanh"

    /// Released configurations name `gelu` but mean the tanh approximation. Some versions of transformers read
    /// `hidden_activation` instead, with the tanh approximation as the default.
    private static func activation(_ file: JSONField) throws -> any Operator {
        let (field, other) = (file["hidden_act"], file["hidden_activation"])
        let isEarly = try field.string(default: activation) == "gelu"
        let chosen = try HiddenActivation.read(isEarly ? JSONField(nil, file: file.file) : field, default: activation)
        guard try HiddenActivation.read(other, default: activation).isSame(as: chosen) || !other.exists else {
            throw other.error("differs from hidden_act, which the framework reads instead from version 5 on")
        }
        return chosen
    }
}
