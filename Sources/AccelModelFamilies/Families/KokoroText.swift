import AccelByteIO
import AccelPrograms
import AccelTensors

/// The checked configuration of Kokoro's text side. A missing field has the value of the published model.
struct KokoroTextConfiguration {
    /// The number of phonemes, with those that no name has.
    let phonemes: Int
    /// The layers of the duration encoder, and the convolutions of the text encoder.
    let layers: Int
    /// The longest duration of a phoneme, in frames of 600 samples.
    let longest: Int
    /// The kernel of the text encoder's convolutions; odd.
    let kernel: Int
    /// The shared layer of the phoneme language model (ALBERT).
    let encoder: EncoderLayers
    /// The times that it is applied.
    let repeats: Int
    /// The width of the embeddings before the layers.
    let embedding: Int
    /// The rows of the table of positions: the most phonemes of a text, with the two at its ends.
    let positions: Int
    /// The rows of the table of segments, of which the first is used.
    let segments: Int

    /// - Parameter config: the whole configuration.
    init(_ config: JSONField) throws {
        phonemes = try config["n_token"].int(in: 1...1 << 16, default: 178)
        layers = try config["n_layer"].int(in: 1...100, default: 3)
        longest = try config["max_dur"].int(in: 1...1 << 12, default: 50)
        kernel = try config["text_encoder_kernel_size"].int(in: 1...1 << 10, default: 5)
        guard kernel % 2 == 1 else {
            throw config["text_encoder_kernel_size"].error("expected an odd kernel, found \(kernel)")
        }
        let bert = try config["plbert"].objectIfAny()
        let width = try bert["hidden_size"].int(in: 1...1 << 16, default: 768)
        let heads = try bert["num_attention_heads"].int(in: 1...1 << 16, default: 12)
        guard width % heads == 0 else {
            throw bert["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width)")
        }
        encoder = EncoderLayers(
            width: width, heads: heads,
            intermediate: try bert["intermediate_size"].int(in: 1...1 << 20, default: 2048),
            epsilon: try bert.epsilon("layer_norm_eps", default: 1e-12),
            activation: try HiddenActivation.read(bert["hidden_act"], default: "gelu_new"), normsFirst: false,
            names: Self.names, length: "sequence")
        repeats = try bert["num_hidden_layers"].int(in: 1...1000, default: 12)
        embedding = try bert["embedding_size"].int(in: 1...1 << 16, default: 128)
        positions = try bert["max_position_embeddings"].int(in: 1...1 << 20, default: 512)
        segments = try bert["type_vocab_size"].int(in: 1...1 << 16, default: 2)
        for name in ["num_hidden_groups", "inner_group_num"] {
            let count = try bert[name].int(in: 1...1000, default: 1)
            try bert.reject([("plbert.\(name)", count != 1, "more than one layer with weights of its own")])
        }
    }

    /// The names of ALBERT's parameters, relative to its layer.
    private static let names = EncoderLayers.Names(
        query: "attention.query", key: "attention.key", value: "attention.value", output: "attention.dense",
        attentionNorm: "attention.LayerNorm", up: "ffn", down: "ffn_output", feedForwardNorm: "full_layer_layer_norm")
}

/// The text side: from phonemes to durations and features.
extension KokoroGraph {
    /// Returns the full name of a module whose parameters some checkpoints store below `module.`.
    /// - Parameter parameter: one of its parameters.
    static func module(_ name: String, with parameter: String, in names: TensorNames) -> String {
        names.find("\(name).module.\(parameter)") == nil ? name : "\(name).module"
    }

    private func module(_ name: String, with parameter: String) -> String {
        Self.module(name, with: parameter, in: layers.names)
    }

    /// Builds the part that encodes phonemes and predicts their durations.
    mutating func textEncoder() throws {
        let text = config.text
        let tokens = layers.builder.input(
            "input_ids", TensorType(.int64, ["batch", "sequence"]), .tokens(vocabulary: text.phonemes))
        let style = layers.builder.input("style", TensorType(.float32, ["batch", .fixed(config.style)]), .style)
        let length = layers.builder.input(
            "length", TensorType(.int64, ["batch"]), .validLength(of: "input_ids", axis: 1))
        // [batch, 1, sequence] for channels before time, and [batch, sequence, 1] for time before channels.
        let across = try validPositions(length, times: 1, plus: 0, of: "sequence").mask
        let along = try layers.in("length") { try $0.apply(Reshape(to: ["batch", "sequence", 1]), across) }

        let read = try phonemeModel(tokens, seen: across)
        let name = module("bert_encoder", with: "bias")
        let encoded = try layers.linear(name, read, from: text.encoder.width, to: config.width)
        let (durations, d) = try durations(encoded, style, length, mask: along)
        layers.builder.output("durations", durations, .probabilities)
        layers.builder.output("d", d, .features)
        layers.builder.output("t_en", try phonemeFeatures(tokens, length, mask: across), .features)
    }

    /// Applies ALBERT, whose one layer is applied several times.
    /// - Parameter seen: BOOL[batch, 1, sequence]
    /// - Returns: F32[batch, sequence, width of ALBERT]
    private mutating func phonemeModel(_ tokens: Value, seen: Value) throws -> Value {
        let (text, embedding) = (config.text, config.text.embedding)
        let root = module("bert", with: "embeddings.word_embeddings.weight")
        let prefix = "\(root).embeddings"
        let words = try layers.weight("\(prefix).word_embeddings.weight", [text.phonemes, embedding])
        let positions = try layers.weight("\(prefix).position_embeddings.weight", [text.positions, embedding])
        let segments = try layers.weight("\(prefix).token_type_embeddings.weight", [text.segments, embedding])
        let sum = try layers.in(prefix) { layers in
            let word = try layers.apply(Gather(), words, tokens)
            let segment = try layers.apply(Slice(begin: [0, 0], sizes: [1, .fixed(embedding)]), segments)
            let position = try layers.apply(Slice(begin: [0, 0], sizes: ["sequence", .fixed(embedding)]), positions)
            return try layers.apply(Add(), try layers.apply(Add(), word, segment), position)
        }
        let normal = try layers.layerNorm(
            "\(prefix).LayerNorm", sum, width: embedding, epsilon: text.encoder.epsilon)
        var x = try layers.linear(
            "\(root).encoder.embedding_hidden_mapping_in", normal, from: embedding, to: text.encoder.width)
        let mask = try layers.in("\(root).mask") { try $0.additiveMask(seen) }
        for _ in 0..<text.repeats {
            x = try text.encoder.layer(
                "\(root).encoder.albert_layer_groups.0.albert_layers.0", x,
                EncoderLayers.Seen(additive: mask, any: nil), in: &layers)
        }
        return x
    }

    /// Builds the duration encoder and the durations.
    /// - Parameters:
    ///   - x: F32[batch, sequence, width]
    ///   - mask: BOOL[batch, sequence, 1]
    /// - Returns: F32[batch, sequence, max_dur], whose sums are the durations of the phonemes in frames, and the features
    ///   of the phonemes, F32[batch, sequence, width + style].
    private mutating func durations(
        _ x: Value, _ style: Value, _ length: Value, mask: Value
    ) throws -> (durations: Value, d: Value) {
        let (width, text) = (config.width, config.text)
        let root = module("predictor", with: "duration_proj.linear_layer.bias")
        let styles = try layers.in("\(root).text_encoder") { [config] layers in
            let row = try layers.apply(Reshape(to: ["batch", 1, .fixed(config.style)]), style)
            return try layers.apply(Expand(to: ["batch", "sequence", .fixed(config.style)]), row)
        }
        var d = try layers.in("\(root).text_encoder") { try $0.apply(Concat(axis: 2), x, styles) }
        for layer in 0..<text.layers {
            let name = "\(root).text_encoder.lstms"
            let y = try recurrent("\(name).\(2 * layer)", d, from: width + config.style, length)
            let normal = try adaptiveLayerNorm("\(name).\(2 * layer + 1)", y, style)
            d = try layers.in("\(name).\(2 * layer + 1)") { try $0.apply(Concat(axis: 2), normal, styles) }
        }
        d = try layers.in("\(root).text_encoder") { [d] in try $0.apply(Select(), mask, d, $0.builder.literal(0)) }
        let y = try recurrent("\(root).lstm", d, from: width + config.style, length)
        let logits = try layers.linear("\(root).duration_proj.linear_layer", y, from: width, to: text.longest)
        return (try layers.in("\(root).duration_proj") { try $0.apply(Sigmoid(), logits) }, d)
    }

    /// Returns `(1 + gamma) * norm(x) + beta` over the channels of x, with gamma and beta from a linear layer of the
    /// style.
    /// - Parameter x: F32[batch, sequence, width]
    private mutating func adaptiveLayerNorm(_ name: String, _ x: Value, _ style: Value) throws -> Value {
        let width = config.width
        let both = try layers.linear("\(name).fc", style, from: config.style, to: 2 * width)
        return try layers.in(name) { layers in
            func half(_ index: Int) throws -> Value {
                let half = Slice(begin: [0, .fixed(index * width)], sizes: ["batch", .fixed(width)])
                return try layers.apply(Reshape(to: ["batch", 1, .fixed(width)]), try layers.apply(half, both))
            }
            let ones = layers.builder.literal(HostTensor([Float](repeating: 1, count: width), [width]), name: "ones")
            let normal = try layers.apply(LayerNorm(epsilon: 1e-5), x, ones)
            let scale = try layers.apply(Add(), try half(0), layers.builder.literal(1))
            return try layers.apply(Add(), try layers.apply(Multiply(), normal, scale), try half(1))
        }
    }

    /// Builds the text encoder: convolutions over the embeddings of phonemes, and a recurrent layer.
    /// - Parameter mask: BOOL[batch, 1, sequence]
    /// - Returns: F32[batch, width, sequence]
    private mutating func phonemeFeatures(_ tokens: Value, _ length: Value, mask: Value) throws -> Value {
        let (width, text) = (config.width, config.text)
        let root = module("text_encoder", with: "embedding.weight")
        func masked(_ x: Value) throws -> Value {
            try layers.in("length") { try $0.apply(Select(), mask, x, $0.builder.literal(0)) }
        }
        let table = try layers.weight("\(root).embedding.weight", [text.phonemes, width])
        var x = try layers.in("\(root).embedding") {
            try $0.transposed(try $0.apply(Gather(), table, tokens))
        }
        for layer in 0..<text.layers {
            let name = "\(root).cnn.\(layer)"
            x = try layers.conv(
                "\(name).0", try masked(x), from: width, to: width, kernel: text.kernel,
                Window(padding: text.kernel / 2))
            let gain = try layers.weight("\(name).1.gamma", [width])
            let shift = try layers.weight("\(name).1.beta", [width])
            x = try layers.in("\(name).1") { [x] layers in
                let normal = try layers.apply(LayerNorm(epsilon: 1e-5), try layers.transposed(x), gain, shift)
                return try layers.transposed(try layers.apply(LeakyRelu(slope: 0.2), normal))
            }
        }
        x = try layers.in(root) { [x] in try $0.transposed(x) }
        let y = try recurrent("\(root).lstm", x, from: width, length)
        return try layers.in(root) { try $0.transposed(y) }
    }
}
