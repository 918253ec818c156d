import AccelPrograms
import AccelTensors

/// The key/value caches of all layers as two states, layer after layer on the first axis, with a column for each position.
struct StackedCaches {
    static let names = ["key_cache", "value_cache"]
    /// The keys' and the values' state: F32[layers, 1, key heads * head width, 1, cache].
    private let states: [Value]
    /// I64[1], the position of the block's first token.
    private let position: Value
    private let heads: Dimension
    private let width: Dimension
    /// By half and layer, F32[1, 1, key heads * head width, 1, cache].
    private var updated: [[Value]] = [[], []]

    /// Adds the states.
    init(_ config: DecoderConfiguration, at position: Value, in layers: inout LayerBuilder) {
        (heads, width) = (.fixed(config.keyHeads), .fixed(config.headWidth))
        let channels = Dimension(config.keyHeads * config.headWidth)
        let type = TensorType(.float32, [.fixed(config.layers.count), 1, channels, 1, "cache"])
        states = Self.names.map { layers.builder.state($0, type) }
        self.position = position
    }

    /// Writes a block of keys or values. Layers have to come in order, each once.
    /// - Parameter block: F32[1, key heads, tokens, head width].
    /// - Returns: The layer's cache, F32[1, key heads, cache, head width].
    mutating func extended(
        by block: Value, _ half: Role.AttentionHalf, layer: Int, in layers: inout LayerBuilder
    ) throws -> Value {
        let index = half == .keys ? 0 : 1
        let channels = layers.builder.type(of: states[index]).dimensions[2]
        let columns = try layers.apply(Transpose([0, 1, 3, 2]), block)
        let column = try layers.apply(Reshape(to: [1, 1, channels, 1, "tokens"]), columns)
        let stored = try layers.apply(
            Slice(begin: [.fixed(layer), 0, 0, 0, 0], sizes: [1, 1, channels, 1, "cache"]), states[index])
        let whole = try layers.apply(UpdateSlice(axis: 4), stored, column, position)
        updated[index].append(whole)
        return try layers.apply(
            Transpose([0, 1, 3, 2]), try layers.apply(Reshape(to: [1, heads, width, "cache"]), whole))
    }

    /// Sets the content of the states after a run.
    /// - Returns: The keys and the values, as the states.
    func update(in layers: inout LayerBuilder) throws -> [Value] {
        try layers.in("cache") { layers in
            try zip(Self.names, updated).map { name, parts in
                let whole = parts.count == 1 ? parts[0] : try layers.builder.apply(Concat(axis: 0), parts)
                layers.builder.update(name, to: whole)
                return whole
            }
        }
    }
}
