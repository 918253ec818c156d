import AccelByteIO
import AccelPrograms
import AccelTensors

/// The graphs of Moonshine's parts.
struct MoonshineGraph {
    let config: MoonshineConfiguration
    var layers: LayerBuilder
    static let epsilon = 1e-5
    /// The numbers of frames after the first convolution, and of states after the last one.
    private static let frames = (Dimension("samples") - 127) / 64 + 1
    private static let states = (((frames - 7) / 3 + 1) - 3) / 2 + 1
    /// The samples that a state sees, and those from a state to the next one.
    private static let (reach, hop) = (895, 384)
    /// The longest sound, in samples: about two minutes.
    private static let longest = 1 << 21
    private static let words = "decoder.embed_tokens.weight"
    private static let head = "proj_out.weight"

    init(config: MoonshineConfiguration, part: String, names: TensorNames) {
        // The published models were made for sounds of at most 30 seconds.
        let remark = Program.FreeDimension.Remark(
            480_001...Self.longest, "more than the 30 seconds of sound that the published models were made for")
        var dimensions = [
            Program.FreeDimension("batch", usual: [1]),
            Program.FreeDimension(
                "samples", usual: [480_000, 160_000], maximum: Self.longest, remarks: [remark]),
        ]
        if part == "decoder" {
            let (positions, most) = (config.positions, 1 << 24)
            // One function for a prefill, and one for the decode step.
            let blocks = positions == 1 ? [1] : [min(4, positions), 1]
            let remarks =
                positions < most
                ? [
                    Program.FreeDimension.Remark(
                        positions + 1...most,
                        "more positions than the \(positions) that the model was made for (max_position_embeddings)")
                ] : []
            dimensions += [
                Program.FreeDimension("cache", usual: [min(positions, 2048)], maximum: most, remarks: remarks),
                Program.FreeDimension("tokens", usual: blocks.reversed(), defaults: blocks, maximum: most),
            ]
        }
        let role: FunctionRole =
            switch part {
            case "encoder": .encode
            case "cross_kv": .crossKeysAndValues
            default: .decode
            }
        self.config = config
        layers = LayerBuilder(builder: ProgramBuilder(name: part, dimensions: dimensions, role: role), names: names)
    }

    mutating func encoder() throws {
        let config = config
        let audio = layers.builder.input(
            "input_values", TensorType(.float32, ["batch", "samples"]), .audio(rate: 16_000))
        let length = layers.builder.input(
            "length", TensorType(.int64, ["batch"]), .validLength(of: "input_values", axis: 1))
        let samples = try layers.in("length") { layers in
            let count = try layers.apply(Reshape(to: ["batch", 1]), try layers.apply(Cast(to: .float32), length))
            return try layers.apply(Maximum(), count, layers.builder.literal(Float(Self.reach)))
        }
        var x = try features(of: audio, samples)
        let (isState, mask, rotation) = try layers.in("positions") { layers in
            let isState = try layers.complete(samples, reach: Self.reach, hop: Self.hop, of: Self.states)
            let mask = try layers.additiveMask(isState, length: Self.states)
            var positions = try DecoderPositions(wholeText: &layers, length: Self.states)
            return (isState, mask, try positions.rotation(by: config.rotary, in: &layers))
        }
        for index in 0..<config.encoderLayers {
            let name = "encoder.layers.\(index)"
            x = try residual("\(name).self_attn", after: "\(name).input_layernorm", x) { graph, normal in
                let operands = try graph.selfAttention("\(name).self_attn", normal, rotation)
                return try graph.attend("\(name).self_attn", operands + [mask])
            }
            x = try residual("\(name).mlp", after: "\(name).post_attention_layernorm", x) { graph, normal in
                let (width, inner) = (config.width, config.intermediate)
                let wide = try graph.layers.linear("\(name).mlp.fc1", normal, from: width, to: inner)
                let active = try graph.layers.in("\(name).mlp") { try $0.apply(config.encoderActivation, wide) }
                return try graph.layers.linear("\(name).mlp.fc2", active, from: inner, to: width)
            }
        }
        let normal = try norm("encoder.layer_norm", x)
        let hidden = try layers.in("length") { layers in
            let flags = try layers.apply(Reshape(to: ["batch", Self.states, 1]), isState)
            return try layers.apply(Select(), flags, normal, layers.builder.literal(0))
        }
        layers.builder.output("last_hidden_state", hidden, .hiddenStates)
    }

    /// Returns the features of a sound, F32[batch, states, width].
    /// - Parameter samples: F32[batch, 1], the number of samples that are no padding.
    private mutating func features(of audio: Value, _ samples: Value) throws -> Value {
        let width = config.width
        let sound = try layers.apply(Reshape(to: ["batch", 1, "samples"]), audio)
        let sums = try layers.conv(
            "encoder.conv1", sound, from: 1, to: width, kernel: 127, Window(stride: 64), hasBias: false)
        let bounded = try layers.in("encoder.conv1") { try $0.apply(Tanh(), sums) }
        let normal = try groupNorm("encoder.groupnorm", bounded, samples)
        let second = try layers.conv(
            "encoder.conv2", normal, from: width, to: 2 * width, kernel: 7, Window(stride: 3))
        // In transformers this does not depend on the configuration.
        let active = try layers.in("encoder.conv2") { try $0.apply(Gelu(.erf), second) }
        let third = try layers.conv(
            "encoder.conv3", active, from: 2 * width, to: width, kernel: 3, Window(stride: 2))
        return try layers.in("encoder.conv3") { try $0.transposed(try $0.apply(Gelu(.erf), third)) }
    }

    /// Normalises x F32[batch, width, frames] over all channels and the frames of the sound. The mean of a frame's channels comes first,
    /// so that no sum is large.
    private mutating func groupNorm(_ name: String, _ x: Value, _ samples: Value) throws -> Value {
        let width = config.width
        let weight = try layers.weight("\(name).weight", [width])
        let bias = try layers.weight("\(name).bias", [width])
        return try layers.in(name) { layers in
            let isFrame = try layers.apply(
                Reshape(to: ["batch", 1, Self.frames]),
                try layers.complete(samples, reach: 127, hop: 64, of: Self.frames))
            let (zero, one) = (layers.builder.literal(0), layers.builder.literal(1))
            let count = try layers.apply(
                Reduce(.sum, axes: [2]), try layers.apply(Select(), isFrame, one, zero))
            func mean(_ value: Value) throws -> Value {
                let frames = try layers.apply(Reduce(.mean, axes: [1]), value)
                let sum = try layers.apply(
                    Reduce(.sum, axes: [2]), try layers.apply(Select(), isFrame, frames, zero))
                return try layers.apply(Divide(), sum, count)
            }
            let centred = try layers.apply(Subtract(), x, try mean(x))
            let variance = try mean(try layers.apply(Multiply(), centred, centred))
            let factor = try layers.apply(
                Rsqrt(), try layers.apply(Add(), variance, layers.builder.literal(Float(Self.epsilon))))
            let normal = try layers.apply(Multiply(), centred, factor)
            let columns = Reshape(to: [.fixed(width), 1])
            let scaled = try layers.apply(Multiply(), normal, try layers.apply(columns, weight))
            return try layers.apply(Add(), scaled, try layers.apply(columns, bias))
        }
    }

    mutating func crossKeysAndValues() throws {
        let hidden = layers.builder.input(
            "encoder_hidden_states", TensorType(.float32, ["batch", Self.states, .fixed(config.width)]),
            .hiddenStates, from: ("encoder", "last_hidden_state"))
        // Without a bias the keys of padding are 0 by themselves.
        let isState =
            config.hasAttentionBias
            ? try layers.in("padding") { layers in
                let flags = try layers.isNonzero(hidden, along: 2)
                return try layers.apply(Reshape(to: ["batch", 1, Self.states, 1]), flags)
            } : nil
        for index in 0..<config.decoderLayers {
            for part in LayerBuilder.halves {
                let name = "decoder.layers.\(index).encoder_attn.\(part.letter)_proj"
                var made = try heads(name, hidden)
                if part.half == .keys, let isState {
                    made = try layers.in(name) { [made] in
                        try $0.apply(Select(), isState, made, $0.builder.literal(0))
                    }
                }
                layers.outputCrossState(made, part, layer: index)
            }
        }
    }

    mutating func decoder() throws {
        let tokens = layers.builder.input(
            "decoder_input_ids", TensorType(.int64, ["batch", "tokens"]), .tokens(vocabulary: config.vocabulary))
        let position = layers.builder.input("position", TensorType(.int64, [1]), .position)
        let (rotation, mask) = try layers.in("positions") { [config] layers in
            var positions = try DecoderPositions(position: position, in: &layers)
            return (
                try positions.rotation(by: config.rotary, in: &layers),
                try positions.mask(window: nil, in: &layers)
            )
        }
        layers.names.tie(head: Self.head, words: Self.words, isTied: config.tiesHead && !config.isBare)
        let words = try layers.weight(Self.words, [config.vocabulary, config.width])
        var x = try layers.in("decoder.embed_tokens") { try $0.apply(Gather(), words, tokens) }
        var padding: Value?
        for index in 0..<config.decoderLayers {
            let name = "decoder.layers.\(index)"
            x = try residual("\(name).self_attn", after: "\(name).input_layernorm", x) { graph, normal in
                let operands = try graph.selfAttention("\(name).self_attn", normal, rotation)
                let caches = try graph.layers.in("\(name).self_attn") { layers in
                    try layers.selfCaches(Array(operands.dropFirst()), layer: index, at: position)
                }
                return try graph.attend("\(name).self_attn", [operands[0]] + caches + [mask])
            }
            let seen = LayerBuilder.halves.map { crossState($0, layer: index) }
            let paddingMask = try padding ?? paddingMask(of: seen[0])
            padding = paddingMask
            x = try residual("\(name).encoder_attn", after: "\(name).post_attention_layernorm", x) { graph, normal in
                let query = try graph.heads("\(name).encoder_attn.q_proj", normal)
                return try graph.attend("\(name).encoder_attn", [query] + seen + [paddingMask])
            }
            x = try residual("\(name).mlp", after: "\(name).final_layernorm", x) { graph, normal in
                try graph.gatedFeedForward("\(name).mlp", normal)
            }
        }
        let normal = try norm("decoder.norm", x)
        if config.isBare { return layers.builder.output("last_hidden_state", normal, .hiddenStates) }
        let head = layers.names.head(Self.head, words: Self.words, isTied: config.tiesHead)
        let weight = try layers.weight(head, [config.vocabulary, config.width])
        let logits = try layers.in("proj_out") { try $0.apply(Linear(), normal, weight) }
        layers.builder.output("logits", logits, .logits(over: .vocabulary))
    }

    private mutating func crossState(_ part: LayerBuilder.StateHalf, layer: Int) -> Value {
        layers.crossState(part, layer: layer, heads: config.heads, states: Self.states, width: config.width)
    }

    /// Returns the mask of the encoder's states, F32[batch, 1, 1, states]: the first head's keys of padding are 0.
    private mutating func paddingMask(of keys: Value) throws -> Value {
        try layers.in("padding") { [config] layers in
            let sizes: [Dimension] = ["batch", 1, Self.states, .fixed(config.headWidth)]
            let first = try layers.apply(Slice(begin: [0, 0, 0, 0], sizes: sizes), keys)
            return try layers.additiveMask(try layers.isNonzero(first, along: 3), length: Self.states)
        }
    }
}
