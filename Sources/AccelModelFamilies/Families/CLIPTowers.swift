import AccelByteIO
import AccelPrograms
import AccelTensors

/// The results of one of CLIP's encoders.
struct CLIPStates {
    /// F32[batch, length, width]
    let hidden: Value
    /// The state of the token that represents the whole input, F32[batch, width].
    let pooled: Value
    let width: Int
}

/// CLIP's image encoder.
struct CLIPVisionTower {
    private let encoder: EncoderLayers
    private let layerCount: Int
    private let patches: ImagePatches
    /// The prefix of its tensors' names.
    private let prefix: String

    init(_ config: JSONField, of checkpoint: Checkpoint, prefix: String) throws {
        self.prefix = prefix
        patches = try ImagePatches(config, of: checkpoint, patch: 32, normalisation: .clip)
        encoder = try EncoderLayers(
            preNorm: config, epsilon: 1e-5, activation: "quick_gelu", length: .fixed(patches.count + 1))
        layerCount = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
    }

    func states(batch: Dimension, in layers: inout LayerBuilder) throws -> CLIPStates {
        let (length, width) = (patches.count + 1, encoder.width)
        var encoder = encoder
        encoder.batch = batch
        let image = layers.builder.input("pixel_values", patches.type(batch: batch), .pixels(patches.normalisation))
        var x = try patches.embedded(
            image, by: "\(prefix)embeddings.patch_embedding", to: width, isBiased: false, batch: batch, in: &layers)
        let token = try layers.weight("\(prefix)embeddings.class_embedding", [width])
        let table = try layers.weight("\(prefix)embeddings.position_embedding.weight", [length, width])
        x = try layers.in("\(prefix)embeddings") { layers in
            let first = try layers.apply(Expand(to: [batch, 1, .fixed(width)]), token)
            return try layers.apply(Add(), try layers.apply(Concat(axis: 1), first, x), table)
        }
        // Checkpoints have this misspelled name.
        x = try layers.layerNorm("\(prefix)pre_layrnorm", x, width: width, epsilon: encoder.epsilon)
        for index in 0..<layerCount {
            x = try encoder.layer("\(prefix)encoder.layers.\(index)", x, nil, in: &layers)
        }
        let first = try layers.in("\(prefix)pooled") { try $0.firstToken(x, width: width, batch: batch) }
        let pooled = try layers.layerNorm("\(prefix)post_layernorm", first, width: width, epsilon: encoder.epsilon)
        return CLIPStates(hidden: x, pooled: pooled, width: width)
    }
}

/// CLIP's text encoder.
struct CLIPTextTower {
    private let encoder: EncoderLayers
    private let layerCount: Int
    private let vocabulary: Int
    private let endToken: Int
    let positions: Int
    /// The prefix of its tensors' names.
    private let prefix: String

    init(_ config: JSONField, prefix: String) throws {
        self.prefix = prefix
        encoder = try EncoderLayers(
            preNorm: config, width: 512, heads: 8, intermediate: 2048, epsilon: 1e-5, activation: "quick_gelu",
            length: "sequence")
        layerCount = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 49408)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 12, default: 77)
        endToken = try config["eos_token_id"].int(in: 0...1 << 24, default: 49407)
    }

    func states(batch: Dimension, in layers: inout LayerBuilder) throws -> CLIPStates {
        var encoder = encoder
        encoder.batch = batch
        let width = encoder.width
        let type = TensorType(.int64, [batch, "sequence"])
        let tokens = layers.builder.input("input_ids", type, .tokens(vocabulary: vocabulary))
        let mask = layers.builder.input("attention_mask", type, .attentionMask(.onesCount))
        let words = try layers.weight("\(prefix)embeddings.token_embedding.weight", [vocabulary, width])
        let table = try layers.weight("\(prefix)embeddings.position_embedding.weight", [positions, width])
        var x = try layers.in("\(prefix)embeddings") { layers in
            let position = try layers.apply(Slice(begin: [0, 0], sizes: ["sequence", .fixed(width)]), table)
            return try layers.apply(Add(), try layers.apply(Gather(), words, tokens), position)
        }
        let seen = try layers.in("\(prefix)mask") { try self.seen(mask, batch: batch, in: &$0) }
        for index in 0..<layerCount {
            x = try encoder.layer("\(prefix)encoder.layers.\(index)", x, seen, in: &layers)
        }
        x = try layers.layerNorm("\(prefix)final_layer_norm", x, width: width, epsilon: encoder.epsilon)
        let pooled = try layers.in("\(prefix)pooled") { try atEnd(x, tokens, batch: batch, in: &$0) }
        return CLIPStates(hidden: x, pooled: pooled, width: width)
    }

    /// Returns the causal mask without padding.
    private func seen(
        _ mask: Value, batch: Dimension, in layers: inout LayerBuilder
    ) throws -> EncoderLayers.Seen {
        let padding = try layers.additiveMask(try layers.apply(Cast(to: .bool), mask), batch: batch)
        let queries = try layers.positions("sequence", largest: positions)
        let keys = try layers.apply(Reshape(to: [1, "sequence"]), queries)
        let causal = try layers.apply(
            Select(), try layers.apply(Compare(.lessOrEqual), keys, queries), layers.builder.literal(0),
            layers.builder.literal(-Float.greatestFiniteMagnitude))
        return EncoderLayers.Seen(additive: try layers.apply(Minimum(), padding, causal), any: nil)
    }

    /// Returns the state of the first end token, F32[batch, width].
    private func atEnd(
        _ x: Value, _ tokens: Value, batch: Dimension, in layers: inout LayerBuilder
    ) throws -> Value {
        let numbers: Value
        if endToken == 2 {
            // Early configurations name a wrong end token; transformers then takes the largest token.
            numbers = try layers.apply(Cast(to: .float32), tokens)
        } else {
            let end = layers.builder.literal(HostTensor([Int64(endToken)], [1]), name: "end_token")
            numbers = try layers.apply(Cast(to: .float32), try layers.apply(Compare(.equal), tokens, end))
        }
        let position = try layers.apply(
            Cast(to: .float32), try layers.apply(ArgMax(axis: 1, keepsAxis: true), numbers))
        let isEnd = try layers.apply(
            Compare(.equal), try layers.positions("sequence", largest: positions),
            try layers.apply(Reshape(to: [batch, 1, 1]), position))
        let chosen = try layers.apply(Select(), isEnd, x, layers.builder.literal(0))
        return try layers.apply(Reduce(.sum, axes: [1], keepsAxes: false), chosen)
    }
}
