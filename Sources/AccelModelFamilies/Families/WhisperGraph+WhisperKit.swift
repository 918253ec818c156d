import AccelByteIO
import AccelPrograms
import AccelTensors

/// The parts with the ports of WhisperKit (argmaxinc/argmax-oss-swift; the decoder's protocol is that of its TextDecoder.swift).
extension WhisperGraph {
    /// The names of the parts, which are those of the files that WhisperKit loads.
    static let whisperKitParts = ["MelSpectrogram", "AudioEncoder", "TextDecoder"]

    /// `melspectrogram_features` F32[batch, mels, 1, frames] -> `encoder_output_embeds` F32[batch, width, 1, (frames+1)/2].
    mutating func audioEncoder() throws {
        let mels = Dimension(config.mels)
        let input = layers.builder.input(
            "melspectrogram_features", TensorType(.float32, ["batch", mels, 1, "frames"]))
        let features = try layers.in("ports") {
            try $0.apply(Reshape(to: ["batch", mels, "frames"]), input)
        }
        let hidden = try hiddenStates(of: features)
        let output = try layers.in("ports") { [config] layers in
            try layers.apply(
                Reshape(to: ["batch", .fixed(config.width), 1, Self.source]), try layers.transposed(hidden))
        }
        layers.builder.output("encoder_output_embeds", output)
    }

    /// One token and the caches of those before it.
    ///
    /// - Inputs: `input_ids` I64[batch], the token; `cache_length` I64[1], its position; `key_cache` and `value_cache`
    ///   F32[batch, layers * width, 1, positions], of which masked columns may hold any finite numbers; `kv_cache_update_mask`
    ///   F32[batch, positions], 1 at the token's column and else 0; `encoder_output_embeds` F32[batch, width, 1, states]; and
    ///   `decoder_key_padding_mask` F32[batch, positions], which is added to the scores.
    /// - Outputs: `logits` F32[batch, 1, vocabulary]; `key_cache_updates` and `value_cache_updates` F32[batch, layers * width, 1, 1], the
    ///   token's column, which the caller writes into the caches; and with `alignment` `alignment_heads_weights` F32[batch, states], the
    ///   mean of the heads' attention to the encoder's states.
    /// - Throws: `RequestError` for a model without a head.
    mutating func textDecoder(_ alignment: AlignmentHeads?) throws {
        guard !config.isBare else { throw RequestError("TextDecoder gives logits, and the bare model has no head") }
        let (width, stack, states) = (config.width, config.decoder, Self.source)
        let token = layers.builder.input("input_ids", TensorType(.int64, ["batch"]))
        let position = layers.builder.input("cache_length", TensorType(.int64, [1]))
        var cache = try CacheColumns(width: width, layers: stack.layers, count: config.targetPositions, in: &layers)
        let embeds = layers.builder.input(
            "encoder_output_embeds", TensorType(.float32, ["batch", .fixed(width), 1, states]))
        let mask = try cache.paddingMask(in: &layers)
        let hidden = try layers.in("ports") { layers in
            try layers.transposed(try layers.apply(Reshape(to: ["batch", .fixed(width), states]), embeds))
        }
        tieHead()
        let row = try embedded(token, at: position)
        var x = try layers.in("ports") { try $0.apply(Reshape(to: ["batch", 1, .fixed(width)]), row) }
        var weights: [Int: Value] = [:]
        for index in 0..<stack.layers {
            let name = "decoder.layers.\(index)"
            x = try residual("\(name).self_attn", x) { graph, normal in
                let operands = try graph.selfAttention("\(name).self_attn", normal, stack.heads)
                let blended = try graph.layers.in("\(name).self_attn") { layers in
                    try operands.dropFirst().enumerated().map { half, value in
                        try cache.blended(value, half: half, layer: index, in: &layers)
                    }
                }
                return try graph.attend("\(name).self_attn", [operands[0]] + blended + [mask], stack.heads)
            }
            x = try residual("\(name).encoder_attn", x) { graph, normal in
                let attention = "\(name).encoder_attn"
                let query = try graph.heads("\(attention).q_proj", normal, stack.heads)
                let seen = try Self.halves.map { letter, half in
                    try graph.crossHeads("\(attention).\(letter)_proj", hidden, half)
                }
                if let alignment, alignment.heads.contains(where: { $0.layer == index }) {
                    let scores = try graph.crossScores(attention, query, seen[0])
                    weights[index] = try graph.layers.in(attention) { try $0.apply(Softmax(), scores) }
                }
                return try graph.attend(attention, [query] + seen, stack.heads)
            }
            x = try feedForward(name, x, stack.intermediate)
        }
        let normal = try layers.layerNorm("decoder.layer_norm", x, width: width, epsilon: Self.epsilon)
        layers.builder.output("logits", try logits(of: normal), .logits(over: .vocabulary))
        try cache.outputUpdates(in: &layers)
        guard let alignment else { return }
        let mean = try layers.in("alignment") { layers in
            let rows = try alignment.heads.compactMap { layer, head in
                try weights[layer].map {
                    try layers.apply(
                        Slice(begin: [0, .fixed(head), 0, 0], sizes: ["batch", 1, 1, states]), $0)
                }
            }
            let all = try layers.joined(rows, axis: 1)
            return try layers.apply(
                Reshape(to: ["batch", states]), try layers.apply(Reduce(.mean, axes: [1]), all))
        }
        layers.builder.output("alignment_heads_weights", mean)
    }

    /// The caches of all layers' keys and values as one tensor each, layer after layer along the channels, with a column for each
    /// position.
    private struct CacheColumns {
        private static let names = ["key_cache", "value_cache"]
        private let width: Int
        private let count: Int
        /// F32[batch, layers * width, 1, positions]: keys, and values.
        private let caches: [Value]
        /// F32[batch, 1, 1, positions]: 1 at the token's column and else 0, and the opposite.
        private let fresh: Value, kept: Value
        private let padding: Value
        /// By half and layer, F32[batch, width, 1, 1].
        private var columns: [[Value]] = [[], []]

        /// Adds the inputs of the caches.
        init(width: Int, layers depth: Int, count: Int, in layers: inout LayerBuilder) throws {
            (self.width, self.count) = (width, count)
            let type = TensorType(.float32, ["batch", .fixed(depth * width), 1, .fixed(count)])
            caches = Self.names.map { layers.builder.input($0, type) }
            let row = TensorType(.float32, ["batch", .fixed(count)])
            let update = layers.builder.input("kv_cache_update_mask", row)
            padding = layers.builder.input("decoder_key_padding_mask", row)
            (fresh, kept) = try layers.in("cache") { layers in
                let fresh = try layers.apply(Reshape(to: ["batch", 1, 1, .fixed(count)]), update)
                return (fresh, try layers.apply(Subtract(), layers.builder.literal(1), fresh))
            }
        }

        /// Returns the padding as it is added to scores, F32[batch, 1, 1, positions].
        func paddingMask(in layers: inout LayerBuilder) throws -> Value {
            try layers.in("cache") { try $0.apply(Reshape(to: ["batch", 1, 1, .fixed(count)]), padding) }
        }

        /// Returns a layer's keys or values with those of the token in its column, F32[batch, heads, positions, head width].
        /// - Parameter own: the token's, F32[batch, heads, 1, head width].
        mutating func blended(
            _ own: Value, half: Int, layer: Int, in layers: inout LayerBuilder
        ) throws -> Value {
            let (wide, heads) = (Dimension(width), layers.builder.type(of: own).dimensions[1])
            let headWidth = layers.builder.type(of: own).dimensions[3]
            let column = try layers.apply(Reshape(to: ["batch", wide, 1, 1]), own)
            columns[half].append(column)
            let cache = try layers.apply(
                Slice(begin: [0, .fixed(layer * width), 0, 0], sizes: ["batch", wide, 1, .fixed(count)]), caches[half])
            let sum = try layers.apply(
                Add(), try layers.apply(Multiply(), cache, kept), try layers.apply(Multiply(), column, fresh))
            return try layers.apply(
                Transpose([0, 1, 3, 2]),
                try layers.apply(Reshape(to: ["batch", heads, headWidth, .fixed(count)]), sum))
        }

        /// Adds the outputs with the token's columns.
        func outputUpdates(in layers: inout LayerBuilder) throws {
            for (name, columns) in zip(Self.names, columns) {
                let joined = try layers.in("cache") { try $0.joined(columns, axis: 1) }
                layers.builder.output("\(name)_updates", joined)
            }
        }
    }
}

extension LayerBuilder {
    /// Returns one or more values of equal shapes as one, along an axis.
    fileprivate mutating func joined(_ values: [Value], axis: Int) throws -> Value {
        values.count == 1 ? values[0] : try builder.apply(Concat(axis: axis), values)
    }
}
