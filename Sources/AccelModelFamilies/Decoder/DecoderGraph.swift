import AccelByteIO
import AccelPrograms
import AccelTensors

/// The graph of a decoder-only language model, with a key/value cache of fixed length or for whole texts.
///
/// Generation. Inputs: `input_ids` I64[batch, tokens], a block of tokens, and `position` I64[1], the position of its first token.
/// Output: `logits` F32[batch, tokens, vocabulary], or for a bare model `last_hidden_state` F32[batch, tokens, width].
/// States: for layer N `k.N` and `v.N` F32[batch, key heads, cache, head width], of which positions 0 up to the block's
/// last are valid. Frozen with a long block it is the prefill, with one token the decode step; both share the states. A
/// block of all tokens at position 0 computes the full forward pass.
///
/// Whole texts, of sentence encoders and classifiers. Inputs: `input_ids` and `attention_mask`, both I64[batch, sequence], padded on
/// either side. Output: `sentence_embedding`, or `logits` F32[batch, labels], or where tokens attend to later ones `last_hidden_state`
/// F32[batch, sequence, width]. There are no states.
struct DecoderGraph {
    let config: DecoderConfiguration
    var layers: LayerBuilder
    /// The number of sequences in a run.
    private let batch: Dimension
    /// The number of tokens in a run.
    private let length: Dimension
    /// The position of the block's first token, I64[1]; nil for whole texts.
    private let position: Value?
    /// The masks and rotations of each layer.
    private let attentionInputs: [AttentionInputs]
    /// The caches of a runtime that stores those of all layers in one state; nil for a state of each layer, or none.
    private(set) var stackedCaches: StackedCaches?

    /// The mask and the rotation of a layer's attention.
    private struct AttentionInputs {
        let rotation: DecoderPositions.Rotation
        let mask: Value
    }

    /// The effects of the cache length.
    static func remarks(
        _ config: DecoderConfiguration, upTo longest: Int
    ) -> [Program.FreeDimension.Remark] {
        let rotary = config.layers.first?.rotary.remarks(upTo: longest) ?? []
        guard rotary.isEmpty, config.positions < longest else { return rotary }
        return [
            .init(
                config.positions + 1...longest,
                "more positions than the \(config.positions) that the model was made for (max_position_embeddings)")
        ]
    }

    /// Builds the part `decoder`.
    static func program(
        _ config: DecoderConfiguration, of checkpoint: Checkpoint, names: inout TensorNames
    ) throws -> Program {
        // modules.json makes it a sentence encoder, whatever class was saved.
        let pooling = try SentencePooling.read(of: checkpoint, width: config.width, generates: config.head == .words)
        names.prefixes = ["model."]
        let layer = pooling == nil ? config.head : .bare
        names.tie(head: head, words: words, isTied: config.tiesHead && layer == .words)
        names.explain("rotary embeddings follow from the configuration") { name in
            ["inv_freq", "original_inv_freq", "cos_cached", "sin_cached"].contains {
                name == "rotary_emb.\($0)" || name.hasSuffix(".rotary_emb.\($0)")
            }
        }
        names.explain("belongs to a head that the model does not have") { name in
            ["score.", "qa_outputs.", "v_head."].contains(where: name.hasPrefix)
        }
        if let pooling {
            names.explain("a sentence encoder has no head") { $0 == head }
            remarkOnCode(checkpoint.configuration, config, in: &names)
            return try wholeTexts(config, role: .encode, names: &names) { graph, text in
                let embedding = try pooling.apply(
                    to: text.hidden, mask: text.mask, positions: text.longest, in: &graph.layers)
                graph.layers.builder.output("sentence_embedding", embedding, .embedding)
            }
        }
        guard case .labels(let count, let padding) = layer else {
            guard let field = config.attendsToLater else { return try generation(config, names: &names) }
            guard layer == .bare else {
                throw RequestError(
                    "\(field.file), field \(field.path): a model that generates text by tokens that attend to those after them "
                        + "is not supported", status: .unavailable)
            }
            return try hiddenStates(config, names: &names)
        }
        names.explain("a classifier of texts has another head") { $0 == head }
        return try wholeTexts(config, role: .classify, names: &names) { graph, text in
            let logits = try graph.labels(of: text, count: count, padding: padding)
            graph.layers.builder.output("logits", logits, .logits(over: .labels))
        }
    }

    /// The tokens in a run: a long block for a prefill, a short one for a question or the rest of a text, and a decode step.
    static func blocks(upTo positions: Int) -> [Int] {
        Set([128, 16, 1].map { min(positions, $0) }).sorted(by: >)
    }

    /// Builds the program of a model that encodes whole texts.
    private static func hiddenStates(_ config: DecoderConfiguration, names: inout TensorNames) throws -> Program {
        names.explain("the bare model has no head") { $0 == head }
        return try wholeTexts(config, role: .encode, names: &names) { graph, text in
            graph.layers.builder.output("last_hidden_state", text.hidden, .hiddenStates)
        }
    }

    /// Builds the program of prefill and decode steps.
    private static func generation(_ config: DecoderConfiguration, names: inout TensorNames) throws -> Program {
        let longest = 1 << 24
        let blocks = blocks(upTo: config.positions)
        let dimensions = [
            Program.FreeDimension("batch", usual: [1]),
            Program.FreeDimension(
                "cache", usual: [min(config.positions, 2048)], maximum: longest,
                remarks: Self.remarks(config, upTo: longest)),
            Program.FreeDimension(
                "tokens", usual: blocks.reversed(), defaults: blocks, maximum: longest),
        ]
        var builder = ProgramBuilder(name: "decoder", dimensions: dimensions, role: .decode)
        let tokens = builder.input(
            "input_ids", TensorType(.int64, ["batch", "tokens"]), .tokens(vocabulary: config.vocabulary))
        let position = builder.input("position", TensorType(.int64, [1]), .position)
        var graph = try DecoderGraph(
            config, LayerBuilder(builder: builder, names: names), length: "tokens", position: position
        ) { try DecoderPositions(position: position, in: &$0) }
        let hidden = try graph.hidden(tokens)
        if config.head == .bare {
            graph.layers.names.explain("the bare model has no head") { $0 == head }
            graph.layers.builder.output("last_hidden_state", hidden, .hiddenStates)
        } else {
            graph.layers.builder.output("logits", try graph.logits(of: hidden), .logits(over: .vocabulary))
        }
        names = graph.layers.names
        return try graph.layers.builder.finish()
    }

    init(
        _ config: DecoderConfiguration, _ builder: LayerBuilder, batch: Dimension = "batch", length: Dimension,
        position: Value? = nil, stackedCaches: StackedCaches? = nil,
        makePositions: (inout LayerBuilder) throws -> DecoderPositions
    ) throws {
        (self.config, self.batch, self.length) = (config, batch, length)
        (self.position, self.stackedCaches) = (position, stackedCaches)
        var layers = builder
        attentionInputs = try layers.in("positions") { layers in
            var positions = try makePositions(&layers)
            return try config.layers.map { layer in
                AttentionInputs(
                    rotation: try positions.rotation(by: layer.rotary, in: &layers),
                    mask: try positions.mask(window: layer.window, in: &layers))
            }
        }
        self.layers = layers
    }

    static let words = "embed_tokens.weight"
    static let head = "lm_head.weight"

    /// Returns the final hidden states, F32[batch, tokens, width].
    mutating func hidden(_ tokens: Value) throws -> Value {
        let table = try layers.weight(Self.words, [config.vocabulary, config.width])
        return try hidden(ofEmbedded: try Self.embedded(tokens, by: table, config, in: &layers))
    }

    /// Returns the embeddings of tokens, with the shape of the tokens before the axes of a table's row.
    static func embedded(
        _ tokens: Value, by table: Value, _ config: DecoderConfiguration, in layers: inout LayerBuilder
    ) throws -> Value {
        try layers.in("embed_tokens") { layers in
            let words = try layers.apply(Gather(), table, tokens)
            guard let scale = config.embeddingScale else { return words }
            return try layers.apply(Multiply(), words, layers.builder.literal(scale))
        }
    }

    /// Returns the final hidden states of embedded tokens, both F32[batch, tokens, width].
    mutating func hidden(ofEmbedded tokens: Value) throws -> Value {
        var x = tokens
        for index in config.layers.indices { x = try layer(index, x) }
        return try norm("norm", x, width: config.width)
    }

    /// Returns the logits of hidden states, which have one row for each token on their last axis but one.
    mutating func logits(of hidden: Value) throws -> Value {
        let name = layers.names.head(Self.head, words: Self.words, isTied: config.tiesHead)
        let head = try layers.weight(name, [config.vocabulary, config.width])
        let logits = try layers.in("lm_head") { try $0.apply(Linear(), hidden, head) }
        return try capped(logits)
    }

    /// Returns logits after the model's softcap, if it has one.
    mutating func capped(_ logits: Value) throws -> Value {
        try layers.in("lm_head") { [config] layers in
            guard let cap = config.logitCap else { return logits }
            let softcapped = try layers.apply(
                Tanh(), try layers.apply(Divide(), logits, layers.builder.literal(cap)))
            return try layers.apply(Multiply(), softcapped, layers.builder.literal(cap))
        }
    }

    private mutating func layer(_ index: Int, _ x: Value) throws -> Value {
        let name = "layers.\(index)"
        let (before, between) = ("\(name).input_layernorm", "\(name).post_attention_layernorm")
        var attended = try attention(index, try norm(before, x, width: config.width))
        if config.normalisesResults { attended = try norm(between, attended, width: config.width) }
        let middle = try layers.in("\(name).self_attn") { try $0.apply(Add(), x, attended) }
        let second = config.normalisesResults ? "\(name).pre_feedforward_layernorm" : between
        var fed = try feedForward("\(name).mlp", try norm(second, middle, width: config.width))
        if config.normalisesResults {
            fed = try norm("\(name).post_feedforward_layernorm", fed, width: config.width)
        }
        return try layers.in("\(name).mlp") { try $0.apply(Add(), middle, fed) }
    }

    private mutating func norm(_ name: String, _ x: Value, width: Int) throws -> Value {
        var gain = try layers.weight("\(name).weight", [width])
        return try layers.in(name) { [config] layers in
            if config.gainsStartAtOne { gain = try layers.apply(Add(), gain, layers.builder.literal(1)) }
            return try layers.apply(RMSNorm(epsilon: config.epsilon), x, gain)
        }
    }

    private mutating func attention(_ index: Int, _ x: Value) throws -> Value {
        let (name, heads, width) = ("layers.\(index).self_attn", config.heads, config.headWidth)
        var (query, key, value) = try projections(name, x)
        if config.normalisesQueriesAndKeys {
            query = try norm("\(name).q_norm", query, width: width)
            key = try norm("\(name).k_norm", key, width: width)
        }
        var caches = stackedCaches
        let mixed = try layers.in(name) { [config, batch, length, position, attentionInputs] layers in
            let rotation = attentionInputs[index].rotation
            query = try layers.apply(Rope(), query, rotation.cos, rotation.sin)
            key = try layers.apply(Rope(), key, rotation.cos, rotation.sin)
            if let position {
                key = try layers.cached(key, as: "k", .keys, layer: index, at: position)
                value = try layers.cached(value, as: "v", .values, layer: index, at: position)
            }
            key = try caches?.extended(by: key, .keys, layer: index, in: &layers) ?? key
            value = try caches?.extended(by: value, .values, layer: index, in: &layers) ?? value
            let mixed = try layers.apply(
                Attention(scale: config.attentionScale), query, key, value, attentionInputs[index].mask)
            return try layers.apply(
                Reshape(to: [batch, length, .fixed(heads * width)]),
                try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        }
        stackedCaches = caches
        return try layers.linear(
            "\(name).o_proj", mixed, from: heads * width, to: config.width, isBiased: config.biases.attentionOutput)
    }

    /// Returns queries, keys and values, each F32[batch, heads, tokens, head width] with its own number of heads.
    private mutating func projections(_ name: String, _ x: Value) throws -> (Value, Value, Value) {
        let (width, biased) = (config.headWidth, config.biases.queryKeyValue)
        let counts = [config.heads, config.keyHeads, config.keyHeads]
        let flat: [Value]
        if config.packsProjections {
            flat = try packed("\(name).qkv_proj", x, to: counts.map { $0 * width }, isBiased: biased)
        } else {
            flat = try zip(["q_proj", "k_proj", "v_proj"], counts).map { role, count in
                try layers.linear("\(name).\(role)", x, from: config.width, to: count * width, isBiased: biased)
            }
        }
        let split = try layers.in(name) { [batch, length] layers in
            try zip(flat, counts).map { value, count in
                let apart = try layers.apply(Reshape(to: [batch, length, .fixed(count), .fixed(width)]), value)
                return try layers.apply(Transpose([0, 2, 1, 3]), apart)
            }
        }
        return (split[0], split[1], split[2])
    }

    /// Applies one linear layer, and splits its result into consecutive parts.
    private mutating func packed(_ name: String, _ x: Value, to widths: [Int], isBiased: Bool) throws -> [Value] {
        let all = try layers.linear(name, x, from: config.width, to: widths.reduce(0, +), isBiased: isBiased)
        return try layers.in(name) { [batch, length] layers in
            try widths.indices.map { index in
                let first = widths[..<index].reduce(0, +)
                return try layers.apply(
                    Slice(begin: [0, 0, .fixed(first)], sizes: [batch, length, .fixed(widths[index])]), all)
            }
        }
    }

    private mutating func feedForward(_ name: String, _ x: Value) throws -> Value {
        let (width, inner, biased) = (config.width, config.intermediate, config.biases.feedForward)
        let (gate, up): (Value, Value)
        if config.packsProjections {
            let both = try packed("\(name).gate_up_proj", x, to: [inner, inner], isBiased: biased)
            (gate, up) = (both[0], both[1])
        } else {
            gate = try layers.linear("\(name).gate_proj", x, from: width, to: inner, isBiased: biased)
            up = try layers.linear("\(name).up_proj", x, from: width, to: inner, isBiased: biased)
        }
        let product = try layers.in(name) { [config] layers in
            try layers.apply(Multiply(), try layers.apply(config.activation, gate), up)
        }
        return try layers.linear("\(name).down_proj", product, from: inner, to: width, isBiased: biased)
    }
}
