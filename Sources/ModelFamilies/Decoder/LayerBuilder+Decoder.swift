import Programs
import Tensors

extension LayerBuilder {
    /// Writes a block of keys or values into a cache, a state that lasts from run to run.
    /// - Parameters:
    ///   - block: F32[batch, heads, tokens, width]
    ///   - position: I64[1], the place of the block's first token.
    /// - Returns: the whole cache, F32[batch, heads, cache, width].
    mutating func cached(_ block: Value, as name: String, at position: Value) throws -> Value {
        var type = builder.type(of: block)
        type.dimensions[2] = "cache"
        let state = builder.state(name, type)
        let updated = try apply(UpdateSlice(axis: 2), state, block, position)
        builder.update(name, to: updated)
        return updated
    }
}
