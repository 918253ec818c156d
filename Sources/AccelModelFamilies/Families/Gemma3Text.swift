import AccelByteIO
import AccelPrograms
import AccelTensors

/// Gemma 3 language models: the graph of Gemma with normalised results, and a separate rotary embedding in layers with
/// a sliding window.
struct Gemma3Text: ModelFamily {
    static let version = 5
    static let modelTypes = ["gemma3_text"]
    static let buildsSentencePooling = true
    static let architectures = ["Gemma3ForCausalLM", "Gemma3TextModel", "Gemma3TextForSequenceClassification"]
    static let inertFields = [
        InertFields("says how layer_types came to be, which are stored beside it", ["_sliding_window_pattern"])
    ]
    let parts = ["decoder"]
    let contractParts = DecoderGraph.staticParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let defaults = DecoderConfiguration.Defaults(
            keyHeads: 4, headWidth: 256, activation: ("hidden_activation", "gelu_pytorch_tanh"), tiesHead: true,
            positions: 131_072)
        var config = try DecoderConfiguration(file, of: Self.architectures, defaults: defaults)
        let seesLater = file["use_bidirectional_attention"]
        config.attendsToLater = try seesLater.bool(default: false) ? seesLater : nil
        try file.reject([
            ("attn_logit_softcapping", file["attn_logit_softcapping"].exists, "a softcap of attention scores")
        ])
        config.gainsStartAtOne = true
        config.normalisesQueriesAndKeys = true
        config.normalisesResults = true
        config.embeddingScale = Float(Double(config.width).squareRoot())
        let scalar = file["query_pre_attn_scalar"]
        let divisor = scalar.exists ? try scalar.double() : 256
        guard divisor > 0, divisor <= 1e12 else { throw scalar.error("\(divisor) is outside of 0...1e12") }
        config.attentionScale = 1 / divisor.squareRoot()
        if file["final_logit_softcapping"].exists {
            let cap = try file["final_logit_softcapping"].double()
            guard cap > 0, cap <= 1e12 else {
                throw file["final_logit_softcapping"].error("\(cap) is outside of 0...1e12")
            }
            config.logitCap = Float(cap)
        }
        let biased = try file["attention_bias"].bool(default: false)
        config.biases.queryKeyValue = biased
        config.biases.attentionOutput = biased
        config.layers = try layers(file, config)
        return try DecoderGraph.programs(config, of: checkpoint, parts: parts, names: &names)
    }

    private func layers(_ file: JSONField, _ config: DecoderConfiguration) throws -> [DecoderConfiguration.Layer] {
        // The fields of rope_scaling precede those of full attention layers in rope_parameters.
        let (scaling, parameters) = (file["rope_scaling"], file["rope_parameters"])
        let full = [scaling, parameters["full_attention"]]
        if scaling["type"].exists, !full.contains(where: { $0["rope_type"].exists }) {
            throw scaling["type"].error("frameworks before version 5 read this, later ones rope_type: rename it")
        }
        // transformers reads `truncate` beside the objects of layer types, and nowhere else.
        let truncation = parameters["truncate"]
        let global = try config.rotary(
            RotarySource(
                objects: full, config: file, theta: 1_000_000, original: .inObjects, truncation: truncation))
        let local = try config.rotary(
            RotarySource(
                objects: [parameters["sliding_attention"]], config: file, thetaField: "rope_local_base_freq",
                original: .inObjects, truncation: truncation))
        let every = try file["sliding_window_pattern"].int(in: 1...1000, default: 6)
        var window = try DecoderConfiguration.window(file, default: 4096)
        // transformers takes half of the window to either side.
        if config.attendsToLater != nil { window = window.map { $0 / 2 + 1 } }
        let sliding = try file.slidingLayers(try DecoderConfiguration.layerCount(file)) { ($0 + 1) % every != 0 }
        guard window != nil || !sliding.contains(true) else {
            throw file["sliding_window"].error("is missing, but layers of sliding_attention want one")
        }
        return sliding.map {
            DecoderConfiguration.Layer(window: $0 ? window : nil, rotary: $0 ? local : global)
        }
    }
}
