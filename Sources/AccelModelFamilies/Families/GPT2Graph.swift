import AccelPrograms
import AccelTensors

/// The graph of GPT-2 with a key/value cache of fixed length.
///
/// Inputs: `input_ids` I64[batch, tokens], a block of tokens, and `position` I64[1], the position of the block's first.
/// Output: `logits` F32[batch, tokens, vocabulary], or for a bare model `last_hidden_state` F32[batch, tokens, width].
/// States: for layer N `k.N` and `v.N` F32[batch, heads, cache, head width]. Position embeddings are a table, which
/// limits the cache length.
struct GPT2Graph {
    private let config: GPT2Configuration
    var layers: LayerBuilder
    private static let words = "wte.weight"
    private static let head = "lm_head.weight"

    init(config: GPT2Configuration, names: TensorNames) {
        let blocks = DecoderGraph.blocks(upTo: config.positions)
        let dimensions = [
            Program.FreeDimension("batch", usual: [1]),
            Program.FreeDimension("cache", usual: [config.positions], maximum: config.positions),
            Program.FreeDimension("tokens", usual: blocks.reversed(), defaults: blocks, maximum: config.positions),
        ]
        self.config = config
        layers = LayerBuilder(
            builder: ProgramBuilder(name: "decoder", dimensions: dimensions, role: .decode), names: names)
    }

    mutating func program() throws -> Program {
        let tokens = layers.builder.input(
            "input_ids", TensorType(.int64, ["batch", "tokens"]), .tokens(vocabulary: config.vocabulary))
        let position = layers.builder.input("position", TensorType(.int64, [1]), .position)
        let (rows, mask) = try layers.in("positions") { layers in
            var positions = try DecoderPositions(position: position, in: &layers)
            return (try positions.rows(in: &layers), try positions.mask(window: nil, in: &layers))
        }
        layers.names.tie(head: Self.head, words: Self.words, isTied: config.tiesHead && !config.isBare)
        let words = try layers.weight(Self.words, [config.vocabulary, config.width])
        let table = try layers.weight("wpe.weight", [config.positions, config.width])
        var x = try layers.in("wte") { try $0.apply(Gather(), words, tokens) }
        x = try layers.in("wpe") { try $0.apply(Add(), x, try $0.apply(Gather(), table, rows)) }
        for index in 0..<config.layers {
            x = try attention(index, x, position: position, mask: mask)
            x = try feedForward("h.\(index)", x)
        }
        x = try layers.layerNorm("ln_f", x, width: config.width, epsilon: config.epsilon)
        if config.isBare {
            layers.names.explain("the bare model has no head") { $0 == Self.head }
            layers.builder.output("last_hidden_state", x, .hiddenStates)
        } else {
            let name = layers.names.head(Self.head, words: Self.words, isTied: config.tiesHead)
            let head = try layers.weight(name, [config.vocabulary, config.width])
            let logits = try layers.in("lm_head") { try $0.apply(Linear(), x, head) }
            layers.builder.output("logits", logits, .logits(over: .vocabulary))
        }
        return try layers.builder.finish()
    }

    private mutating func attention(_ index: Int, _ x: Value, position: Value, mask: Value) throws -> Value {
        let (name, width, heads) = ("h.\(index)", config.width, config.heads)
        let normal = try layers.layerNorm("\(name).ln_1", x, width: width, epsilon: config.epsilon)
        let packed = try layers.linear(transposed: "\(name).attn.c_attn", normal, from: width, to: 3 * width)
        let mixed = try layers.in("\(name).attn") { [config] layers in
            let split = try (0..<3).map { part in
                let flat = try layers.apply(
                    Slice(begin: [0, 0, .fixed(part * width)], sizes: ["batch", "tokens", .fixed(width)]), packed)
                let apart = try layers.apply(
                    Reshape(to: ["batch", "tokens", .fixed(heads), .fixed(width / heads)]), flat)
                return try layers.apply(Transpose([0, 2, 1, 3]), apart)
            }
            let keys = try layers.cached(split[1], as: "k", .keys, layer: index, at: position)
            let values = try layers.cached(split[2], as: "v", .values, layer: index, at: position)
            let mixed = try layers.apply(
                Attention(scale: config.attentionScale(ofLayer: index)), split[0], keys, values, mask)
            return try layers.apply(
                Reshape(to: ["batch", "tokens", .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        }
        let made = try layers.linear(transposed: "\(name).attn.c_proj", mixed, from: width, to: width)
        return try layers.in("\(name).attn") { try $0.apply(Add(), x, made) }
    }

    private mutating func feedForward(_ name: String, _ x: Value) throws -> Value {
        let (width, inner) = (config.width, config.intermediate)
        let normal = try layers.layerNorm("\(name).ln_2", x, width: width, epsilon: config.epsilon)
        let wide = try layers.linear(transposed: "\(name).mlp.c_fc", normal, from: width, to: inner)
        let active = try layers.in("\(name).mlp") { [config] in try $0.apply(config.activation, wide) }
        let made = try layers.linear(transposed: "\(name).mlp.c_proj", active, from: inner, to: width)
        return try layers.in("\(name).mlp") { try $0.apply(Add(), x, made) }
    }
}
