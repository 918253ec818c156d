import AccelByteIO
import AccelPrograms
import AccelTensors

/// Parakeet with a transducer (RNN-T, Graves 2012, or TDT with durations of tokens, Xu et al. 2023), in three parts.
///
/// - `encoder`: `input_features` and `attention_mask` as of `Parakeet` -> `pooler_output` F32[batch, states, width], the encoder's states in
///   the width of the predictor.
/// - `predictor`: `decoder_input_ids` I64[batch, 1], the token that was emitted last, at first the blank -> `decoder_hidden_states`
///   F32[batch, 1, width]. States: for each recurrent layer `lstm.N` F32[2, batch, width].
/// - `joint`: `encoder_hidden_states` F32[batch, 1, width], one state of the encoder, and `decoder_hidden_states` -> `logits`
///   F32[batch, 1, vocabulary], and for TDT `duration_logits` F32[batch, 1, durations], by the order of `durations` in the configuration.
///
/// The caller emits the likeliest token, runs the predictor on it unless it is the blank, and goes on by the likeliest duration.
struct ParakeetTransducer: ModelFamily {
    static let modelTypes = ["parakeet_tdt", "parakeet_rnnt"]
    static let architectures = ["ParakeetForTDT", "ParakeetForRNNT"]
    static let inertFields: [InertFields] =
        ParakeetConfiguration.inertFields + [
            InertFields(
                "belongs to the choice of tokens, which the caller makes", ["blank_token_id", "max_symbols_per_step"])
        ]
    static let nestedConfigurations = ["encoder_config"]
    let parts = ["encoder", "predictor", "joint"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try TransducerConfiguration(checkpoint.configuration, of: Self.architectures)
        names.prefixes = ["encoder."]
        for (part, modules) in [
            ("encoder", ["subsampling.", "layers.", "encoder_projector."]), ("predictor", ["decoder."]),
            ("joint", ["joint."]),
        ] where !parts.contains(part) {
            names.explain("read by the part \(part) only", isExpected: true) { name in
                modules.contains(where: name.hasPrefix)
            }
        }
        return try parts.map { part in
            var layers: LayerBuilder
            switch part {
            case "encoder":
                var graph = ParakeetGraph(config: config.encoder, part: part, role: .encode, names: names)
                let hidden = try graph.hiddenStates()
                layers = graph.layers
                let projected = try layers.linear(
                    "encoder_projector", hidden, from: config.encoder.width, to: config.width)
                layers.builder.output("pooler_output", projected, .hiddenStates)
            case "predictor":
                layers = Self.layers(part, .predict, names)
                try config.predictor(in: &layers)
            default:
                layers = Self.layers(part, .join, names)
                try config.joint(in: &layers)
            }
            names = layers.names
            return try layers.builder.finish()
        }
    }

    private static func layers(_ part: String, _ role: FunctionRole, _ names: TensorNames) -> LayerBuilder {
        let dimensions = [Program.FreeDimension("batch", usual: [1])]
        return LayerBuilder(builder: ProgramBuilder(name: part, dimensions: dimensions, role: role), names: names)
    }
}

/// The checked configuration of a transducer. A missing field has the default of transformers.
struct TransducerConfiguration {
    let encoder: ParakeetConfiguration
    let vocabulary: Int
    /// The width of the predictor and of the joint network.
    let width: Int
    let layers: Int
    let activation: any Operator
    /// The number of durations that a token may have; nil for a model without durations.
    let durations: Int?

    init(_ config: JSONField, of architectures: [String]) throws {
        let isRNNT = try config["model_type"].exists && config["model_type"].string() == "parakeet_rnnt"
        let architecture = try config.architecture(
            among: architectures, default: isRNNT ? architectures.last : architectures.first)
        encoder = try ParakeetConfiguration(config["encoder_config"].objectIfAny())
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 8193)
        width = try config["decoder_hidden_size"].int(in: 1...1 << 16, default: 640)
        layers = try config["num_decoder_layers"].int(in: 1...100, default: 2)
        activation = try HiddenActivation.read(config["hidden_act"], default: "relu")
        guard architecture == "ParakeetForTDT" else {
            durations = nil
            return
        }
        let field = config["durations"]
        let all = try field.exists ? field.array().map { try $0.int(in: 0...1 << 10) } : [0, 1, 2, 3, 4]
        guard !all.isEmpty else { throw field.error("expected at least one duration, found none") }
        durations = all.count
    }

    /// Builds the part that reads emitted tokens.
    func predictor(in layers: inout LayerBuilder) throws {
        let row: [Dimension] = ["batch", .fixed(width)]
        let tokens = layers.builder.input(
            "decoder_input_ids", TensorType(.int64, ["batch", 1]), .tokens(vocabulary: vocabulary))
        let table = try layers.weight("decoder.embedding.weight", [vocabulary, width])
        var x = try layers.in("decoder.embedding") {
            try $0.apply(Reshape(to: row), try $0.apply(Gather(), table, tokens))
        }
        for layer in 0..<self.layers {
            let name = "lstm.\(layer)"
            let state = layers.builder.state(name, TensorType(.float32, [2, "batch", .fixed(width)]), .recurrent)
            let weights = try ["ih", "hh"].map {
                try layers.weight("decoder.lstm.weight_\($0)_l\(layer)", [4 * width, width])
            }
            let biases = try ["ih", "hh"].map { try layers.weight("decoder.lstm.bias_\($0)_l\(layer)", [4 * width]) }
            let (next, hidden) = try layers.in("decoder.lstm.\(layer)") { [x] layers in
                let next = try layers.builder.apply(LSTMCell(), [x, state] + weights + biases)
                let first = try layers.apply(Slice(begin: [0, 0, 0], sizes: [1, "batch", .fixed(width)]), next)
                return (next, try layers.apply(Reshape(to: row), first))
            }
            layers.builder.update(name, to: next)
            x = hidden
        }
        let projected = try layers.linear("decoder.decoder_projector", x, from: width, to: width)
        let output = try layers.in("decoder") {
            try $0.apply(Reshape(to: ["batch", 1, .fixed(width)]), projected)
        }
        layers.builder.output("decoder_hidden_states", output, .hiddenStates)
    }

    /// Builds the part that scores tokens, and durations if there are any.
    func joint(in layers: inout LayerBuilder) throws {
        let type = TensorType(.float32, ["batch", 1, .fixed(width)])
        let heard = layers.builder.input("encoder_hidden_states", type, .hiddenStates)
        let read = layers.builder.input(
            "decoder_hidden_states", type, .hiddenStates, from: ("predictor", "decoder_hidden_states"))
        let sum = try layers.in("joint") { [activation] in
            try $0.apply(activation, try $0.apply(Add(), heard, read))
        }
        let scores = try layers.linear("joint.head", sum, from: width, to: vocabulary + (durations ?? 0))
        guard let durations else {
            return layers.builder.output("logits", scores, .logits(over: .vocabulary))
        }
        for (name, first, count, classes) in [
            ("logits", 0, vocabulary, Role.Classes.vocabulary),
            ("duration_logits", vocabulary, durations, .durations),
        ] {
            let part = try layers.in("joint.\(name)") {
                try $0.apply(Slice(begin: [0, 0, .fixed(first)], sizes: ["batch", 1, .fixed(count)]), scores)
            }
            layers.builder.output(name, part, .logits(over: classes))
        }
    }
}
