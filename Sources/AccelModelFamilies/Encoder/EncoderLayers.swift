import AccelPrograms
import AccelTensors

/// The layers of a transformer encoder: self-attention and a feed-forward network, each with a norm and a residual.
struct EncoderLayers {
    /// The names of a layer's parameters, relative to the layer.
    struct Names {
        var query = "self_attn.q_proj"
        var key = "self_attn.k_proj"
        var value = "self_attn.v_proj"
        var output = "self_attn.out_proj"
        var attentionNorm = "layer_norm1"
        var up = "mlp.fc1"
        var down = "mlp.fc2"
        var feedForwardNorm = "layer_norm2"
    }
    /// The positions that attention may use.
    struct Seen {
        /// F32, broadcasts to [batch, heads, length, length]: 0 for visible keys, else the lowest float32.
        let additive: Value
        /// F32, broadcasts to [batch, length, width]: 0 for queries without a visible key, for which transformers
        /// returns zeros.
        let any: Value?
    }
    var width: Int
    var heads: Int
    var intermediate: Int
    var epsilon: Double
    var activation: any Operator
    /// Norms come before attention and feed-forward network; if false, they come after the residuals.
    var normsFirst: Bool
    var hasQueryKeyValueBias = true
    var names = Names()
    /// The number of tokens or patches.
    var length: Dimension
    var batch: Dimension = "batch"

    /// Applies one layer.
    /// - Parameter x: F32[batch, length, width]
    func layer(_ name: String, _ x: Value, _ seen: Seen?, in layers: inout LayerBuilder) throws -> Value {
        let middle = try residual(x, name, last: names.output, norm: names.attentionNorm, in: &layers) {
            try attention(name, $0, seen, in: &$1)
        }
        return try residual(middle, name, last: names.down, norm: names.feedForwardNorm, in: &layers) {
            try feedForward(name, $0, in: &$1)
        }
    }

    private func residual(
        _ x: Value, _ name: String, last: String, norm: String, in layers: inout LayerBuilder,
        _ body: (Value, inout LayerBuilder) throws -> Value
    ) throws -> Value {
        func normal(_ x: Value, _ layers: inout LayerBuilder) throws -> Value {
            try layers.layerNorm("\(name).\(norm)", x, width: width, epsilon: epsilon)
        }
        let y = try body(normsFirst ? try normal(x, &layers) : x, &layers)
        let sum = try layers.in("\(name).\(Self.scope(last))") { try $0.apply(Add(), y, x) }
        return normsFirst ? sum : try normal(sum, &layers)
    }

    private func attention(
        _ name: String, _ x: Value, _ seen: Seen?, in layers: inout LayerBuilder
    ) throws -> Value {
        let operands = try [names.query, names.key, names.value].map { role in
            let all = try layers.linear("\(name).\(role)", x, from: width, to: width, isBiased: hasQueryKeyValueBias)
            return try layers.in("\(name).\(role)") { try split(all, in: &$0) }
        }
        let joined = try layers.in("\(name).\(Self.scope(names.query))") { try mix(operands, seen, in: &$0) }
        return try layers.linear("\(name).\(names.output)", joined, from: width, to: width)
    }

    /// Splits a projection into heads.
    /// - Parameter x: F32[batch, length, width]
    /// - Returns: F32[batch, heads, length, width / heads]
    func split(_ x: Value, length: Dimension? = nil, in layers: inout LayerBuilder) throws -> Value {
        let apart: [Dimension] = [batch, length ?? self.length, .fixed(heads), .fixed(width / heads)]
        return try layers.apply(Transpose([0, 2, 1, 3]), try layers.apply(Reshape(to: apart), x))
    }

    /// Applies attention.
    /// - Parameter operands: queries, keys and values, split into heads.
    /// - Parameter queries: the number of queries; nil if there are as many as keys.
    /// - Returns: F32[batch, queries, width]
    func mix(
        _ operands: [Value], _ seen: Seen?, queries: Dimension? = nil, in layers: inout LayerBuilder
    ) throws -> Value {
        let scale = 1 / Double(width / heads).squareRoot()
        let mixed = try layers.builder.apply(Attention(scale: scale), operands + (seen.map { [$0.additive] } ?? []))
        let joined = try layers.apply(
            Reshape(to: [batch, queries ?? length, .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        guard let any = seen?.any else { return joined }
        return try layers.apply(Multiply(), joined, any)
    }

    /// Applies the feed-forward network of the layer `name`, or of any module with parameters of the same names.
    func feedForward(_ name: String, _ x: Value, in layers: inout LayerBuilder) throws -> Value {
        let wide = try layers.linear("\(name).\(names.up)", x, from: width, to: intermediate)
        let active = try layers.in("\(name).\(Self.scope(names.up))") { try $0.apply(activation, wide) }
        return try layers.linear("\(name).\(names.down)", active, from: intermediate, to: width)
    }

    /// Returns the name of the module that a parameter belongs to: the name without its last component.
    private static func scope(_ name: String) -> String {
        name.split(separator: ".").dropLast().joined(separator: ".")
    }
}
