import ByteIO
import Programs
import Tensors

/// The graph of a BERT encoder and its heads.
struct BertGraph {
    let config: BertConfiguration
    var layers: LayerBuilder
    /// The attention mask as it comes in.
    let mask: Value
    private let tokens: Value
    private let segments: Value

    init(config: BertConfiguration, layers: LayerBuilder) {
        self.config = config
        self.layers = layers
        let type = TensorType(.int64, ["batch", "sequence"])
        tokens = self.layers.builder.input("input_ids", type)
        mask = self.layers.builder.input("attention_mask", type)
        segments = self.layers.builder.input("token_type_ids", type)
    }

    /// F32[batch, sequence, width]
    mutating func encoder() throws -> Value {
        var x = try layers.in("embeddings") { [self] in try embeddings(in: &$0) }
        let seen = try layers.in("mask") { [self] in try Seen(mask: mask, in: &$0) }
        for layer in 0..<config.layers {
            x = try self.layer("encoder.layer.\(layer)", x, seen)
        }
        return x
    }

    private func embeddings(in layers: inout LayerBuilder) throws -> Value {
        let width = config.width
        let words = try layers.weight("embeddings.word_embeddings.weight", [config.vocabulary, width])
        let types = try layers.weight("embeddings.token_type_embeddings.weight", [config.segments, width])
        let places = try layers.weight("embeddings.position_embeddings.weight", [config.positions, width])
        let word = try layers.in("word_embeddings") { [tokens] in try $0.apply(Gather(), words, tokens) }
        let type = try layers.in("token_type_embeddings") { [segments] in try $0.apply(Gather(), types, segments) }
        let place = try layers.in("position_embeddings") {
            try $0.apply(Slice(begin: [0, 0], sizes: ["sequence", .fixed(width)]), places)
        }
        let sum = try layers.apply(Add(), try layers.apply(Add(), word, type), place)
        let weight = try layers.weight("embeddings.LayerNorm.weight", [width])
        let bias = try layers.weight("embeddings.LayerNorm.bias", [width])
        return try layers.apply(LayerNorm(epsilon: config.epsilon), sum, weight, bias)
    }

    /// What the attention mask means to attention.
    private struct Seen {
        /// F32[batch, 1, 1, sequence]: 0 where a key is seen, else the lowest float32.
        let additive: Value
        /// F32[batch, 1, 1]: 1 where any key is seen, else 0. The framework gives rows without a key zeros.
        let any: Value

        init(mask: Value, in layers: inout LayerBuilder) throws {
            let seen = try layers.apply(Cast(to: .bool), mask)
            let zero = layers.builder.literal(0)
            let lowest = layers.builder.literal(-Float.greatestFiniteMagnitude)
            let flags = try layers.apply(Reshape(to: ["batch", 1, 1, "sequence"]), seen)
            additive = try layers.apply(Select(), flags, zero, lowest)
            let largest = try layers.apply(Reduce(.max, axes: [1]), try layers.apply(Cast(to: .float32), seen))
            any = try layers.apply(Reshape(to: ["batch", 1, 1]), largest)
        }
    }

    private mutating func layer(_ name: String, _ x: Value, _ seen: Seen) throws -> Value {
        let (width, inner, epsilon) = (config.width, config.intermediate, config.epsilon)
        let context = try attention("\(name).attention.self", x, seen)
        let attended = try layers.linear("\(name).attention.output.dense", context, from: width, to: width)
        let middle = try layers.layerNorm(
            "\(name).attention.output.LayerNorm",
            try layers.in("\(name).attention.output") { try $0.apply(Add(), attended, x) },
            width: width, epsilon: epsilon)
        let wide = try layers.linear("\(name).intermediate.dense", middle, from: width, to: inner)
        let active = try layers.in("\(name).intermediate") { [config] in try $0.apply(config.activation, wide) }
        let narrow = try layers.linear("\(name).output.dense", active, from: inner, to: width)
        return try layers.layerNorm(
            "\(name).output.LayerNorm", try layers.in("\(name).output") { try $0.apply(Add(), narrow, middle) },
            width: width, epsilon: epsilon)
    }

    private mutating func attention(_ name: String, _ x: Value, _ seen: Seen) throws -> Value {
        let (width, heads) = (config.width, config.heads)
        var operands: [Value] = []
        for role in ["query", "key", "value"] {
            let all = try layers.linear("\(name).\(role)", x, from: width, to: width)
            operands.append(
                try layers.in("\(name).\(role)") {
                    let split = try $0.apply(
                        Reshape(to: ["batch", "sequence", .fixed(heads), .fixed(width / heads)]), all)
                    return try $0.apply(Transpose([0, 2, 1, 3]), split)
                })
        }
        return try layers.in(name) { layers in
            let scale = 1 / Double(width / heads).squareRoot()
            let mixed = try layers.builder.apply(Attention(scale: scale), operands + [seen.additive])
            let joined = try layers.apply(
                Reshape(to: ["batch", "sequence", .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
            return try layers.apply(Multiply(), joined, seen.any)
        }
    }

    /// F32[batch, width] of the first token.
    mutating func pooler(_ hidden: Value) throws -> Value {
        let width = Dimension(config.width)
        let first = try layers.in("pooler") { layers in
            let token = try layers.apply(Slice(begin: [0, 0, 0], sizes: ["batch", 1, width]), hidden)
            return try layers.apply(Reshape(to: ["batch", width]), token)
        }
        let dense = try layers.linear("pooler.dense", first, from: config.width, to: config.width)
        return try layers.in("pooler") { try $0.apply(Tanh(), dense) }
    }

    /// F32[batch, sequence, vocabulary]
    mutating func maskedLMHead(_ hidden: Value) throws -> Value {
        let (width, name) = (config.width, "cls.predictions")
        let dense = try layers.linear("\(name).transform.dense", hidden, from: width, to: width)
        let active = try layers.in("\(name).transform") { [config] in try $0.apply(config.activation, dense) }
        let normal = try layers.layerNorm(
            "\(name).transform.LayerNorm", active, width: width, epsilon: config.epsilon)
        let weight = try layers.weight(try decoderName(), [config.vocabulary, width])
        // Frameworks store the one bias under either name, or both.
        let stored = layers.names.find("\(name).decoder.bias")
        layers.names.explain("the decoder has a bias of its own") { $0 == "\(name).bias" }
        let bias = try layers.weight(stored == nil ? "\(name).bias" : "\(name).decoder.bias", [config.vocabulary])
        return try layers.in("\(name).decoder") { try $0.apply(Linear(), normal, weight, bias) }
    }

    /// The tensor that the head multiplies with: its own, unless it is tied to (or equal to) the word embeddings.
    private mutating func decoderName() throws -> String {
        let (own, tied) = ("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight")
        guard let head = layers.names.find(own) else { return config.tiesHead ? tied : own }
        guard let words = layers.names.find(tied), words.elementType == head.elementType, words.bytes == head.bytes
        else { return own }
        layers.names.explain("equal to \(words.name), which is used in its place") { $0 == own }
        return tied
    }
}
