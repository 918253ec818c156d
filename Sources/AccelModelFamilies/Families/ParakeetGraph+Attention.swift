import AccelPrograms
import AccelTensors

import func AccelPlatform.pow

/// Attention with relative positions.
extension ParakeetGraph {
    /// Returns the mask of attention, F32[batch, 1, states, states]: 0 where query and key are valid, else the lowest float32.
    /// - Parameter valid: F32[batch, states, 1]
    static func additiveMask(_ valid: Value, states: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let queries = try layers.apply(Reshape(to: ["batch", 1, states, 1]), valid)
        let keys = try layers.apply(Reshape(to: ["batch", 1, 1, states]), valid)
        let both = try layers.apply(Multiply(), queries, keys)
        let seen = try layers.apply(Compare(.greater), both, layers.builder.literal(0))
        let lowest = layers.builder.literal(-Float.greatestFiniteMagnitude)
        return try layers.apply(Select(), seen, layers.builder.literal(0), lowest)
    }

    /// Returns the sines and cosines of the distances from a query to a key, in turn, F32[2 * states, width]: from `states - 1` to `-states`.
    /// No query has the last distance, which makes the rows as many as twice the states.
    static func positionTable(
        _ config: ParakeetConfiguration, states: Dimension, in layers: inout LayerBuilder
    ) throws -> Value {
        let (longest, half, rows) = (config.positions, config.width / 2, states * 2)
        let distances = (0..<2 * longest).map { Float(longest - 1 - $0) }
        let all = layers.builder.literal(HostTensor(distances, [2 * longest, 1]), name: "distances")
        let frequencies = (0..<half).map { 1 / pow(Float(10_000), Float(2 * $0) / Float(config.width)) }
        let table = layers.builder.literal(HostTensor(frequencies, [half]), name: "frequencies")
        let own = try layers.apply(Slice(begin: [.fixed(longest) - states, 0], sizes: [rows, 1]), all)
        let angles = try layers.apply(Multiply(), own, table)
        let sides = try [Sin() as any Operator, Cos()].map { function in
            try layers.apply(Reshape(to: [rows, .fixed(half), 1]), try layers.apply(function, angles))
        }
        let pairs = try layers.apply(Concat(axis: 2), sides[0], sides[1])
        return try layers.apply(Reshape(to: [rows, .fixed(config.width)]), pairs)
    }

    /// Applies self-attention. A score is `((q + u) k + (q + v) r) / sqrt(head width)`, where r belongs to the distance of query and key.
    /// - Parameters:
    ///   - x: F32[batch, states, width]
    ///   - hidden: the mask, F32[batch, 1, states, states].
    ///   - positions: F32[2 * states, width]
    mutating func attention(_ name: String, _ x: Value, hidden: Value, positions: Value) throws -> Value {
        let (width, heads, hasBias) = (config.width, config.heads, config.hasBias)
        let headWidth = width / heads
        let projected = try ["q_proj", "k_proj", "v_proj"].map { role in
            try layers.linear("\(name).\(role)", x, from: width, to: width, isBiased: hasBias)
        }
        let biases = try ["bias_u", "bias_v"].map { bias in
            let stored = try layers.names.take("\(name).\(bias)", [heads, headWidth])
            return layers.builder.constant(layers.names.reshaped(stored, [width]), isWeight: true)
        }
        let relative = try layers.linear(
            "\(name).relative_k_proj", positions, from: width, to: width, isBiased: false)
        let scale = 1 / Double(headWidth).squareRoot()
        let joined = try layers.in(name) { [states] layers in
            func split(_ x: Value) throws -> Value {
                let apart = Reshape(to: ["batch", states, .fixed(heads), .fixed(headWidth)])
                return try layers.apply(Transpose([0, 2, 1, 3]), try layers.apply(apart, x))
            }
            let content = try split(try layers.apply(Add(), projected[0], biases[0]))
            let positional = try layers.apply(Add(), projected[0], biases[1])
            let query = try split(try layers.apply(Multiply(), positional, layers.builder.literal(Float(scale))))
            let apart = Reshape(to: [1, states * 2, .fixed(heads), .fixed(headWidth)])
            let keys = try layers.apply(Transpose([0, 2, 3, 1]), try layers.apply(apart, relative))
            let scores = try Self.shifted(
                try layers.apply(MatMul(), query, keys), heads: .fixed(heads), states: states, in: &layers)
            let bias = try layers.apply(Add(), scores, hidden)
            let operands = [content, try split(projected[1]), try split(projected[2]), bias]
            let mixed = try layers.builder.apply(Attention(scale: scale), operands)
            return try layers.apply(
                Reshape(to: ["batch", states, .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        }
        return try layers.linear("\(name).o_proj", joined, from: width, to: width, isBiased: hasBias)
    }

    /// Returns for each query the scores of its keys, F32[batch, heads, states, states], from scores of distances: those of a query start one
    /// element earlier than those of the query before it.
    /// - Parameter scores: F32[batch, heads, states, 2 * states]
    private static func shifted(
        _ scores: Value, heads: Dimension, states: Dimension, in layers: inout LayerBuilder
    ) throws -> Value {
        let shorter = states * 2 - 1
        let flat = try layers.apply(Reshape(to: ["batch", heads, states * states * 2]), scores)
        let rest = try layers.apply(
            Slice(begin: [0, 0, states - 1], sizes: ["batch", heads, states * shorter]), flat)
        let rows = try layers.apply(Reshape(to: ["batch", heads, states, shorter]), rest)
        return try layers.apply(Slice(begin: [0, 0, 0, 0], sizes: ["batch", heads, states, states]), rows)
    }
}
