import AccelByteIO
import AccelPrograms
import AccelTensors

/// The graphs of Whisper's parts.
struct WhisperGraph {
    let config: WhisperConfiguration
    var layers: LayerBuilder
    /// The number of encoder states per window.
    static let source = (Dimension("frames") - 1) / 2 + 1
    static let epsilon = 1e-5
    static let halves = LayerBuilder.halves
    static let words = "decoder.embed_tokens.weight"
    private static let head = "proj_out.weight"

    init(config: WhisperConfiguration, part: String, names: TensorNames) {
        let frames = 2 * config.sourcePositions
        let shorter = Program.FreeDimension.Remark(
            1...frames - 1,
            "a window shorter than the \(frames) frames that the model was made for: another model than the original")
        var dimensions = [
            Program.FreeDimension("batch", usual: [1]),
            Program.FreeDimension("frames", usual: [frames], maximum: frames, remarks: [shorter]),
        ]
        // The sound of one window.
        if part == "MelSpectrogram" { dimensions.removeFirst() }
        if part == "decoder" {
            let positions = config.targetPositions
            // One function for the prefill, and one for the decode step.
            let blocks = positions == 1 ? [1] : [min(4, positions), 1]
            dimensions += [
                Program.FreeDimension("cache", usual: [positions], maximum: positions),
                Program.FreeDimension("tokens", usual: blocks.reversed(), defaults: blocks, maximum: positions),
            ]
        }
        if part == "aligner" {
            // A text of as many tokens as a window has at most, between those of the task and of the end.
            let longest = config.targetPositions
            dimensions.append(
                Program.FreeDimension("sequence", usual: [min(longest, longest / 2 + 8)], maximum: longest))
        }
        let role: FunctionRole =
            switch part {
            case "encoder": .encode
            case "cross_kv": .crossKeysAndValues
            case "aligner": .align
            case _ where WhisperGraph.whisperKitParts.contains(part): .block
            default: .decode
            }
        self.config = config
        layers = LayerBuilder(builder: ProgramBuilder(name: part, dimensions: dimensions, role: role), names: names)
    }

    mutating func encoder() throws {
        let features = layers.builder.input(
            "input_features", TensorType(.float32, ["batch", .fixed(config.mels), "frames"]),
            .melFeatures(Role.MelParameters(bands: config.mels, rate: 16_000, window: 400, hop: 160)))
        layers.builder.output("last_hidden_state", try hiddenStates(of: features), .hiddenStates)
    }

    /// Returns the encoder's hidden states F32[batch, (frames+1)/2, width] of features F32[batch, mels, frames].
    mutating func hiddenStates(of features: Value) throws -> Value {
        let (width, stack) = (config.width, config.encoder)
        var x = features
        for (name, inputs, stride) in [("encoder.conv1", config.mels, 1), ("encoder.conv2", width, 2)] {
            let window = Window(stride: stride, padding: 1)
            let sums = try layers.conv(name, x, from: inputs, to: width, kernel: 3, window)
            // In transformers this does not depend on the configuration.
            x = try layers.in(name) { try $0.apply(Gelu(.erf), sums) }
        }
        let positions = try layers.weight("encoder.embed_positions.weight", [config.sourcePositions, width])
        x = try layers.in("encoder.embed_positions") { layers in
            let row = try layers.apply(Slice(begin: [0, 0], sizes: [Self.source, .fixed(width)]), positions)
            return try layers.apply(Add(), try layers.transposed(x), row)
        }
        for index in 0..<stack.layers {
            let name = "encoder.layers.\(index)"
            x = try residual("\(name).self_attn", x) { graph, normal in
                let query = try graph.heads("\(name).self_attn.q_proj", normal, stack.heads)
                let key = try graph.heads("\(name).self_attn.k_proj", normal, stack.heads, isBiased: false)
                let value = try graph.heads("\(name).self_attn.v_proj", normal, stack.heads)
                return try graph.attend("\(name).self_attn", [query, key, value], stack.heads)
            }
            x = try feedForward(name, x, stack.intermediate)
        }
        return try layers.layerNorm("encoder.layer_norm", x, width: width, epsilon: Self.epsilon)
    }

    mutating func crossKeysAndValues() throws {
        let hidden = layers.builder.input(
            "encoder_hidden_states", TensorType(.float32, ["batch", Self.source, .fixed(config.width)]),
            .hiddenStates, from: ("encoder", "last_hidden_state"))
        for index in 0..<config.decoder.layers {
            let name = "decoder.layers.\(index).encoder_attn"
            for (letter, half) in Self.halves {
                let made = try crossHeads("\(name).\(letter)_proj", hidden, half)
                layers.outputCrossState(made, (letter, half), layer: index)
            }
        }
    }

    /// Returns the keys or values of the encoder's hidden states, F32[batch, heads, states, head width].
    mutating func crossHeads(_ name: String, _ hidden: Value, _ half: Role.AttentionHalf) throws -> Value {
        try heads(name, hidden, config.decoder.heads, isBiased: half == .values)
    }

    mutating func decoder() throws {
        let (width, stack) = (config.width, config.decoder)
        let tokens = layers.builder.input(
            "decoder_input_ids", TensorType(.int64, ["batch", "tokens"]), .tokens(vocabulary: config.vocabulary))
        let position = layers.builder.input("position", TensorType(.int64, [1]), .position)
        let (rows, mask) = try layers.in("positions") { layers in
            var positions = try DecoderPositions(position: position, in: &layers)
            return (try positions.rows(in: &layers), try positions.mask(window: nil, in: &layers))
        }
        tieHead()
        var x = try embedded(tokens, at: rows)
        for index in 0..<stack.layers {
            let name = "decoder.layers.\(index)"
            x = try residual("\(name).self_attn", x) { graph, normal in
                let operands = try graph.selfAttention("\(name).self_attn", normal, stack.heads)
                let caches = try graph.layers.in("\(name).self_attn") { layers in
                    try layers.selfCaches(Array(operands.dropFirst()), layer: index, at: position)
                }
                return try graph.attend("\(name).self_attn", [operands[0]] + caches + [mask], stack.heads)
            }
            x = try residual("\(name).encoder_attn", x) { graph, normal in
                let query = try graph.heads("\(name).encoder_attn.q_proj", normal, stack.heads)
                let seen = Self.halves.map { graph.crossState($0, layer: index) }
                return try graph.attend("\(name).encoder_attn", [query] + seen, stack.heads)
            }
            x = try feedForward(name, x, stack.intermediate)
        }
        let normal = try layers.layerNorm("decoder.layer_norm", x, width: width, epsilon: Self.epsilon)
        if config.isBare { return layers.builder.output("last_hidden_state", normal, .hiddenStates) }
        layers.builder.output("logits", try logits(of: normal), .logits(over: .vocabulary))
    }

    /// Lets the table of words stand for the head of a model that ties them.
    mutating func tieHead() {
        layers.names.tie(head: Self.head, words: Self.words, isTied: config.tiesHead && !config.isBare)
    }

    /// Returns the scores of the vocabulary, F32[batch, length, vocabulary].
    mutating func logits(of normal: Value) throws -> Value {
        let head = layers.names.head(Self.head, words: Self.words, isTied: config.tiesHead)
        let weight = try layers.weight(head, [config.vocabulary, config.width])
        return try layers.in("proj_out") { try $0.apply(Linear(), normal, weight) }
    }

    /// The decoder's embeddings of tokens, F32[batch, length, width].
    /// - Parameter rows: the positions of the tokens, I64[length].
    mutating func embedded(_ tokens: Value, at rows: Value) throws -> Value {
        let words = try layers.weight(Self.words, [config.vocabulary, config.width])
        let positions = try layers.weight("decoder.embed_positions.weight", [config.targetPositions, config.width])
        let x = try layers.in("decoder.embed_tokens") { try $0.apply(Gather(), words, tokens) }
        return try layers.in("decoder.embed_positions") {
            try $0.apply(Add(), x, try $0.apply(Gather(), positions, rows))
        }
    }

    /// The query, key and value of x's attention to itself.
    mutating func selfAttention(_ name: String, _ x: Value, _ count: Int) throws -> [Value] {
        [
            try heads("\(name).q_proj", x, count), try heads("\(name).k_proj", x, count, isBiased: false),
            try heads("\(name).v_proj", x, count),
        ]
    }

    /// The state of the encoder's keys or values, which a layer of the decoder reads.
    mutating func crossState(_ part: LayerBuilder.StateHalf, layer: Int) -> Value {
        layers.crossState(
            part, layer: layer, heads: config.decoder.heads, states: Self.source, width: config.width)
    }

    /// Returns x plus the result of `body` for the norm of x. The norm's name is `NAME_layer_norm`.
    mutating func residual(
        _ name: String, _ x: Value, _ body: (inout WhisperGraph, Value) throws -> Value
    ) throws -> Value {
        let normal = try layers.layerNorm("\(name)_layer_norm", x, width: config.width, epsilon: Self.epsilon)
        let made = try body(&self, normal)
        return try layers.in(name) { try $0.apply(Add(), x, made) }
    }

    mutating func feedForward(_ name: String, _ x: Value, _ inner: Int) throws -> Value {
        let (width, activation) = (config.width, config.activation)
        return try residual("\(name).final", x) { graph, normal in
            let wide = try graph.layers.linear("\(name).fc1", normal, from: width, to: inner)
            let active = try graph.layers.in("\(name).fc1") { try $0.apply(activation, wide) }
            return try graph.layers.linear("\(name).fc2", active, from: inner, to: width)
        }
    }

    /// Projects x F32[batch, length, width] to heads, F32[batch, heads, length, head width].
    mutating func heads(_ name: String, _ x: Value, _ count: Int, isBiased: Bool = true) throws -> Value {
        try layers.heads(name, x, count, width: config.width, isBiased: isBiased)
    }

    mutating func attend(_ name: String, _ operands: [Value], _ heads: Int) throws -> Value {
        let width = config.width
        let mixed = try layers.attended(name, operands, heads: heads, width: width)
        return try layers.linear("\(name).out_proj", mixed, from: width, to: width)
    }
}
