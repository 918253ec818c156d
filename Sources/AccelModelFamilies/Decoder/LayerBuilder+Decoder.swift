import AccelPrograms
import AccelTensors

extension LayerBuilder {
    /// Writes a block of keys or values into a cache, which is a state.
    /// - Parameters:
    ///   - block: F32[batch, heads, tokens, width]
    ///   - stem: the state's name without the number of the layer.
    ///   - position: I64[1], the position of the block's first token.
    /// - Returns: The whole cache, F32[batch, heads, cache, width].
    mutating func cached(
        _ block: Value, as stem: String, _ half: Role.AttentionHalf, layer: Int, at position: Value
    ) throws -> Value {
        let name = "\(stem).\(layer)"
        var type = builder.type(of: block)
        type.dimensions[2] = "cache"
        let state = builder.state(name, type, .keyValueCache(half, layer: layer, axis: 2))
        let updated = try apply(UpdateSlice(axis: 2), state, block, position)
        builder.update(name, to: updated)
        return updated
    }
}
