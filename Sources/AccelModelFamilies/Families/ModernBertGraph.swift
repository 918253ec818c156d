import AccelPrograms
import AccelTensors

import func AccelPlatform.powf

/// The graph of a ModernBERT encoder and its heads.
struct ModernBertGraph {
    static let tokens = "embeddings.tok_embeddings.weight"
    static let decoder = "decoder.weight"
    private(set) var config: ModernBertConfiguration
    var layers: LayerBuilder
    /// The number of texts: `batch`, or that of all choices.
    let texts: Dimension
    /// I64[texts, sequence]
    let mask: Value
    private let tokens: Value

    /// The mask and rotation that all layers of a kind share.
    private struct AttentionInputs {
        let seen: EncoderLayers.Seen
        /// F32[sequence, pairs] each.
        let cos: Value
        let sin: Value
    }

    private var width: Int { config.encoder.width }

    init(config: ModernBertConfiguration, _ architecture: ModernBert.Architecture, names: TensorNames) throws {
        let usual = [min(128, config.positions), min(512, config.positions)]
        let ports = TextPorts(
            choices: architecture == .multipleChoice,
            sequence: .init("sequence", usual: usual, maximum: config.positions))
        layers = LayerBuilder(
            builder: ProgramBuilder(name: "model", dimensions: ports.dimensions, role: architecture.role), names: names)
        texts = ports.texts
        tokens = try ports.input("input_ids", .tokens(vocabulary: config.vocabulary), in: &layers)
        mask = try ports.input("attention_mask", .attentionMask(.onesCount), in: &layers)
        self.config = config
        self.config.encoder.batch = texts
    }

    /// Returns the final hidden states, F32[texts, sequence, width].
    mutating func encoded() throws -> Value {
        let words = try layers.weight(Self.tokens, [config.vocabulary, width])
        let word = try layers.in("embeddings") { [tokens] in try $0.apply(Gather(), words, tokens) }
        var x = try norm("embeddings.norm", word)
        let global = try attentionInputs("global", reach: nil, base: config.globalBase)
        let local = try attentionInputs("local", reach: config.reach, base: config.localBase)
        for (index, seesAll) in config.seesAll.enumerated() {
            x = try layer(index, x, seesAll ? global : local)
        }
        return try norm("final_norm", x)
    }

    private mutating func norm(_ name: String, _ x: Value) throws -> Value {
        if config.biases.norm {
            return try layers.layerNorm(name, x, width: width, epsilon: config.encoder.epsilon)
        }
        let gain = try layers.weight("\(name).weight", [width])
        return try layers.in(name) { [config, width] layers in
            let zeros = HostTensor([Float](repeating: 0, count: width), [width]).stored(name: "zeros")
            let none = layers.builder.constant(zeros, isWeight: false)
            return try layers.apply(LayerNorm(epsilon: config.encoder.epsilon), x, gain, none)
        }
    }

    private mutating func attentionInputs(_ name: String, reach: Int?, base: Double) throws -> AttentionInputs {
        try layers.in(name) { [config, mask, texts] layers in
            let isText = try layers.apply(Cast(to: .float32), try layers.apply(Cast(to: .bool), mask))
            var flags = try layers.apply(Reshape(to: [texts, 1, 1, "sequence"]), isText)
            let queries = try layers.positions("sequence", largest: config.positions)
            if let reach {
                let keys = try layers.apply(Reshape(to: [1, "sequence"]), queries)
                let distance = try layers.apply(Subtract(), queries, keys)
                let square = try layers.apply(Multiply(), distance, distance)
                let farthest = layers.builder.literal(Float(reach) * Float(reach))
                let isNear = try layers.apply(Compare(.lessOrEqual), square, farthest)
                flags = try layers.apply(Multiply(), flags, try layers.apply(Cast(to: .float32), isNear))
            }
            let additive = try layers.apply(
                Select(), try layers.apply(Cast(to: .bool), flags), layers.builder.literal(0),
                layers.builder.literal(-Float.greatestFiniteMagnitude))
            let any = try layers.apply(
                Reshape(to: [texts, reach == nil ? 1 : "sequence", 1]),
                try layers.apply(Reduce(.max, axes: [3]), flags))
            let pairs = config.encoder.width / config.encoder.heads / 2
            let frequencies = (0..<pairs).map { 1 / powf(Float(base), Float(2 * $0) / Float(2 * pairs)) }
            let table = layers.builder.literal(HostTensor(frequencies, [pairs]), name: "frequencies")
            let angles = try layers.apply(Multiply(), queries, table)
            return AttentionInputs(
                seen: EncoderLayers.Seen(additive: additive, any: any), cos: try layers.apply(Cos(), angles),
                sin: try layers.apply(Sin(), angles))
        }
    }

    private mutating func layer(_ index: Int, _ x: Value, _ around: AttentionInputs) throws -> Value {
        let name = "layers.\(index)"
        // The norm of the embeddings replaces that of the first layer.
        let normal = index == 0 ? x : try norm("\(name).attn_norm", x)
        let attended = try attention("\(name).attn", normal, around)
        let middle = try layers.in("\(name).attn") { try $0.apply(Add(), x, attended) }
        let fed = try feedForward("\(name).mlp", try norm("\(name).mlp_norm", middle))
        return try layers.in("\(name).mlp") { try $0.apply(Add(), middle, fed) }
    }

    private mutating func attention(_ name: String, _ x: Value, _ around: AttentionInputs) throws -> Value {
        let flat = try packed("\(name).Wqkv", x, count: 3, width: width, isBiased: config.biases.attention)
        let mixed = try layers.in(name) { [config] layers in
            var operands = try flat.map { try config.encoder.split($0, in: &layers) }
            for index in 0..<2 {
                operands[index] = try layers.apply(Rope(), operands[index], around.cos, around.sin)
            }
            return try config.encoder.mix(operands, around.seen, in: &layers)
        }
        return try layers.linear("\(name).Wo", mixed, from: width, to: width, isBiased: config.biases.attention)
    }

    private mutating func feedForward(_ name: String, _ x: Value) throws -> Value {
        let (inner, biased) = (config.encoder.intermediate, config.biases.feedForward)
        let both = try packed("\(name).Wi", x, count: 2, width: inner, isBiased: biased)
        let product = try layers.in(name) { [config] layers in
            try layers.apply(Multiply(), try layers.apply(config.encoder.activation, both[0]), both[1])
        }
        return try layers.linear("\(name).Wo", product, from: inner, to: width, isBiased: biased)
    }

    /// Applies one linear layer, and splits its result into consecutive parts.
    private mutating func packed(
        _ name: String, _ x: Value, count: Int, width: Int, isBiased: Bool
    ) throws -> [Value] {
        let all = try layers.linear(name, x, from: self.width, to: count * width, isBiased: isBiased)
        return try layers.in(name) { [texts] layers in
            try (0..<count).map { index in
                try layers.apply(
                    Slice(begin: [0, 0, .fixed(index * width)], sizes: [texts, "sequence", .fixed(width)]), all)
            }
        }
    }

    /// Applies the head up to its last layer.
    mutating func head(_ x: Value) throws -> Value {
        let dense = try layers.linear("head.dense", x, from: width, to: width, isBiased: config.biases.head)
        let active = try layers.in("head") { [config] in try $0.apply(config.headActivation, dense) }
        return try norm("head.norm", active)
    }

    /// Returns the scores of classes, [..., count], of hidden states [..., width].
    mutating func scores(_ x: Value, count: Int) throws -> Value {
        try layers.linear("classifier", try head(x), from: width, to: count)
    }

    /// Returns a score for each of the choices, F32[batch, choices]: that of its first token which is not padding, or of the mean.
    mutating func choices(_ hidden: Value) throws -> Value {
        let pooled =
            config.poolsMean
            ? try self.pooled(hidden)
            : try SentencePooling(modes: [.cls]).apply(
                to: hidden, mask: mask, texts: texts, positions: config.positions, in: &layers)
        let scores = try scores(pooled, count: 1)
        return try layers.in("classifier") { try $0.apply(Reshape(to: ["batch", "choices"]), scores) }
    }

    /// Returns the first token, or the mean over tokens, F32[texts, width].
    mutating func pooled(_ x: Value) throws -> Value {
        try layers.in("pooled") { [config, mask, texts] layers in
            guard config.poolsMean else {
                return try layers.firstToken(x, width: config.encoder.width, batch: texts)
            }
            let weights = try layers.apply(
                Reshape(to: [texts, "sequence", 1]), try layers.apply(Cast(to: .float32), mask))
            let sum = Reduce(.sum, axes: [1], keepsAxes: false)
            let total = try layers.apply(sum, try layers.apply(Multiply(), x, weights))
            return try layers.apply(Divide(), total, try layers.apply(sum, weights))
        }
    }

    /// Returns vocabulary scores, F32[batch, sequence, vocabulary].
    mutating func words(_ x: Value) throws -> Value {
        let name = layers.names.head(Self.decoder, words: Self.tokens, isTied: config.tiesHead)
        var operands = [x, try layers.weight(name, [config.vocabulary, width])]
        if config.biases.decoder { operands.append(try layers.weight("decoder.bias", [config.vocabulary])) }
        return try layers.in("decoder") { try $0.builder.apply(Linear(), operands) }
    }
}
