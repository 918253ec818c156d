import AccelByteIO
import AccelPrograms
import AccelTensors

/// SigLIP's image encoder.
struct SiglipVisionTower {
    /// A learned query pools the patches.
    let hasHead: Bool
    private let encoder: EncoderLayers
    private let patches: ImagePatches
    private let layerCount: Int
    /// The prefix of its tensors' names.
    private let prefix: String

    init(_ config: JSONField, of checkpoint: Checkpoint, prefix: String) throws {
        self.prefix = prefix
        patches = try ImagePatches(config, of: checkpoint, patch: 16, normalisation: .halves)
        encoder = try EncoderLayers(
            preNorm: config, epsilon: 1e-6, activation: "gelu_pytorch_tanh", length: .fixed(patches.count))
        layerCount = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
        hasHead = try config["vision_use_head"].bool(default: true)
    }

    private func layer(batch: Dimension) -> EncoderLayers {
        var layer = encoder
        layer.batch = batch
        return layer
    }

    /// Returns the patches' final hidden states, F32[batch, patches, width].
    func hidden(batch: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let (layer, width) = (layer(batch: batch), encoder.width)
        let image = layers.builder.input("pixel_values", patches.type(batch: batch), .pixels(patches.normalisation))
        var x = try patches.embedded(
            image, by: "\(prefix)embeddings.patch_embedding", to: width, isBiased: true, batch: batch, in: &layers)
        let table = try layers.weight("\(prefix)embeddings.position_embedding.weight", [patches.count, width])
        x = try layers.in("\(prefix)embeddings") { try $0.apply(Add(), x, table) }
        for index in 0..<layerCount {
            x = try layer.layer("\(prefix)encoder.layers.\(index)", x, nil, in: &layers)
        }
        return try layers.layerNorm("\(prefix)post_layernorm", x, width: width, epsilon: encoder.epsilon)
    }

    /// Returns the pooled image, F32[batch, width]: attention of a learned query to all patches, and a residual
    /// feed-forward network.
    func pooled(_ x: Value, batch: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let (name, width, encoder) = ("\(prefix)head.attention", encoder.width, layer(batch: batch))
        let probe = try layers.weight("\(prefix)head.probe", [1, 1, width])
        let weight = try layers.weight("\(name).in_proj_weight", [3 * width, width])
        let bias = try layers.weight("\(name).in_proj_bias", [3 * width])
        let mixed = try layers.in(name) { layers in
            let query = try layers.apply(Expand(to: [batch, 1, .fixed(width)]), probe)
            // One matrix holds the projections of query, key and value, in this order.
            let operands = try [query, x, x].enumerated().map { index, source in
                let (first, size) = (Dimension(index * width), Dimension(width))
                let rows = try layers.apply(Slice(begin: [first, 0], sizes: [size, size]), weight)
                let offsets = try layers.apply(Slice(begin: [first], sizes: [size]), bias)
                let all = try layers.apply(Linear(), source, rows, offsets)
                return try encoder.split(all, length: index == 0 ? 1 : nil, in: &layers)
            }
            return try encoder.mix(operands, nil, queries: 1, in: &layers)
        }
        let attended = try layers.linear("\(name).out_proj", mixed, from: width, to: width)
        let normal = try layers.layerNorm(
            "\(prefix)head.layernorm", attended, width: width, epsilon: encoder.epsilon)
        let fed = try encoder.feedForward("\(prefix)head", normal, in: &layers)
        return try layers.in("\(prefix)head") {
            try $0.firstToken(try $0.apply(Add(), attended, fed), width: width, batch: batch)
        }
    }
}

/// SigLIP's text encoder.
struct SiglipTextTower {
    let positions: Int
    private let encoder: EncoderLayers
    private let layerCount: Int
    private let vocabulary: Int
    private let projection: Int
    /// The prefix of its tensors' names.
    private let prefix: String

    init(_ config: JSONField, prefix: String) throws {
        self.prefix = prefix
        encoder = try EncoderLayers(
            preNorm: config, epsilon: 1e-6, activation: "gelu_pytorch_tanh", length: "sequence")
        layerCount = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
        projection = try config["projection_size"].int(in: 1...1 << 16, default: encoder.width)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 32000)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 16, default: 64)
    }

    /// Returns the projected state of the last token, which may be padding, F32[batch, projection].
    func embedding(batch: Dimension, in layers: inout LayerBuilder) throws -> Value {
        var encoder = encoder
        encoder.batch = batch
        let width = encoder.width
        let tokens = layers.builder.input(
            "input_ids", TensorType(.int64, [batch, "sequence"]), .tokens(vocabulary: vocabulary))
        let words = try layers.weight("\(prefix)embeddings.token_embedding.weight", [vocabulary, width])
        let table = try layers.weight("\(prefix)embeddings.position_embedding.weight", [positions, width])
        var x = try layers.in("\(prefix)embeddings") { layers in
            let position = try layers.apply(Slice(begin: [0, 0], sizes: ["sequence", .fixed(width)]), table)
            return try layers.apply(Add(), try layers.apply(Gather(), words, tokens), position)
        }
        for index in 0..<layerCount {
            x = try encoder.layer("\(prefix)encoder.layers.\(index)", x, nil, in: &layers)
        }
        x = try layers.layerNorm("\(prefix)final_layer_norm", x, width: width, epsilon: encoder.epsilon)
        let last = try layers.in("\(prefix)pooled") { layers in
            let token = try layers.apply(
                Slice(begin: [0, "sequence" - 1, 0], sizes: [batch, 1, .fixed(width)]), x)
            return try layers.apply(Reshape(to: [batch, .fixed(width)]), token)
        }
        return try layers.linear("\(prefix)head", last, from: width, to: projection)
    }
}
