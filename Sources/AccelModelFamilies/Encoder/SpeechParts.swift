import AccelPrograms
import AccelTensors

/// The parts of speech models with an encoder and a decoder: `encoder`, `cross_kv` and `decoder`, which are connected by states.
extension TensorNames {
    /// Explains the tensors of parts that are not built, and the head of a bare model.
    /// - Parameter parts: the parts that are built.
    mutating func explainSpeechParts(besides parts: [String], isBare: Bool) {
        for part in ["encoder", "decoder"] where !parts.contains(part) {
            explain("read by the part \(part) only", isExpected: true) {
                $0.hasPrefix("\(part).") || part == "decoder" && $0 == "proj_out.weight"
            }
        }
        if isBare { explain("the bare model has no head") { $0 == "proj_out.weight" } }
        if !parts.contains("cross_kv") {
            explain("read by the part cross_kv only", isExpected: true) {
                $0.contains(".encoder_attn.k_proj.") || $0.contains(".encoder_attn.v_proj.")
            }
        }
    }
}

/// The attention of these parts, and its states.
extension LayerBuilder {
    /// The keys or the values of an attention, with their letter in the names of layers and states.
    typealias StateHalf = (letter: String, half: Role.AttentionHalf)
    static let halves: [StateHalf] = [("k", .keys), ("v", .values)]

    /// Projects x F32[batch, length, width] to heads, F32[batch, heads, length, head width].
    mutating func heads(
        _ name: String, _ x: Value, _ count: Int, width: Int, isBiased: Bool = true
    ) throws -> Value {
        let flat = try linear(name, x, from: width, to: width, isBiased: isBiased)
        return try self.in(name) { layers in
            let length = layers.builder.type(of: flat).dimensions[1]
            let apart = try layers.apply(Reshape(to: ["batch", length, .fixed(count), .fixed(width / count)]), flat)
            return try layers.apply(Transpose([0, 2, 1, 3]), apart)
        }
    }

    /// Returns the result of an attention with its heads side by side, F32[batch, length, width].
    /// - Parameter operands: query, keys and values, F32[batch, heads, length, head width] each, and optionally a mask.
    mutating func attended(_ name: String, _ operands: [Value], heads: Int, width: Int) throws -> Value {
        try self.in(name) { layers in
            let scale = 1 / Double(width / heads).squareRoot()
            let mixed = try layers.builder.apply(Attention(scale: scale), operands)
            let length = layers.builder.type(of: mixed).dimensions[2]
            return try layers.apply(
                Reshape(to: ["batch", length, .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        }
    }

    /// Returns the keys or values of an encoder's states, which a layer of the decoder reads: F32[batch, heads, states, head width].
    mutating func crossState(
        _ part: StateHalf, layer: Int, heads: Int, states: Dimension, width: Int
    ) -> Value {
        let type = TensorType(.float32, ["batch", .fixed(heads), states, .fixed(width / heads)])
        return builder.state("cross_\(part.letter).\(layer)", type, .crossAttention(part.half, layer: layer))
    }

    /// Writes the keys or values that `crossState` reads, and returns them to the caller as an output.
    mutating func outputCrossState(_ made: Value, _ part: StateHalf, layer: Int) {
        let (state, role) = ("cross_\(part.letter).\(layer)", Role.crossAttention(part.half, layer: layer))
        _ = builder.state(state, builder.type(of: made), role)
        builder.update(state, to: made)
        builder.output(state, made, role)
    }

    /// Writes the keys and values of a block into the caches of a decoder's layer.
    /// - Parameter position: I64[1], the position of the block's first token.
    /// - Returns: The whole caches, F32[batch, heads, cache, head width] each.
    mutating func selfCaches(_ block: [Value], layer: Int, at position: Value) throws -> [Value] {
        try zip(block, Self.halves).map { block, part in
            try cached(block, as: "self_\(part.letter)", part.half, layer: layer, at: position)
        }
    }
}
