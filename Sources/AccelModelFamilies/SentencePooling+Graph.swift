import AccelByteIO
import AccelPrograms
import AccelTensors

extension SentencePooling {
    /// Computes the sentence embedding.
    /// - Parameter hidden: F32[batch, sequence, width]
    /// - Parameter mask: I64 or F32[batch, sequence]
    /// - Parameter texts: the size of the batch.
    /// - Parameter positions: the longest sequence.
    /// - Returns: F32[batch, width], the width times the number of modes or that of the last dense layer.
    func apply(
        to hidden: Value, mask: Value, texts: Dimension = "batch", positions: Int, in layers: inout LayerBuilder
    ) throws -> Value {
        try layers.in("sentence") { layers in
            let tokens = try PooledTokens(hidden: hidden, mask: mask, texts: texts, positions: positions, in: &layers)
            let vectors = try modes.map { try tokens.pooled($0, in: &layers) }
            let joined = vectors.count == 1 ? vectors[0] : try layers.builder.apply(Concat(axis: 1), vectors)
            return try steps.reduce(joined) { vector, step in
                switch step {
                case .dense(let dense): try dense.apply(to: vector, in: &layers)
                case .normalisation: try layers.apply(L2Norm(), vector)
                }
            }
        }
    }
}

/// The hidden states of a batch of sentences, with the weight of each token.
private struct PooledTokens {
    let hidden: Value
    let positions: Int
    /// F32[sequence, 1]: 0, 1, 2, ...
    let indices: Value
    /// F32[batch, sequence, 1]
    let weights: Value

    init(
        hidden: Value, mask: Value, texts: Dimension, positions: Int, in layers: inout LayerBuilder
    ) throws {
        (self.hidden, self.positions) = (hidden, positions)
        let table = HostTensor((0..<positions).map(Float.init), [positions, 1])
        indices = try layers.apply(
            Slice(begin: [0, 0], sizes: ["sequence", 1]), layers.builder.literal(table, name: "positions"))
        let numbers = try layers.apply(Cast(to: .float32), mask)
        weights = try layers.apply(Reshape(to: [texts, "sequence", 1]), numbers)
    }

    func pooled(_ mode: SentencePooling.Mode, in layers: inout LayerBuilder) throws -> Value {
        let sum = Reduce(.sum, axes: [1], keepsAxes: false)
        switch mode {
        case .mean:
            return try mean(weights, in: &layers) { $1 }
        case .meanSqrtLength:
            return try mean(weights, in: &layers) { try $0.apply(Sqrt(), $1) }
        case .weightedMean:
            // Weights 1, 2, 3, ... starting at the first token that is not padding.
            let chosen = try layers.apply(Select(), try first(in: &layers), indices, layers.builder.literal(0))
            let begin = try layers.apply(Reduce(.sum, axes: [1]), chosen)
            let rank = try layers.apply(
                Add(), try layers.apply(Subtract(), indices, begin), layers.builder.literal(1))
            return try mean(try layers.apply(Multiply(), weights, rank), in: &layers) { $1 }
        case .max:
            let counts = try layers.apply(Cast(to: .bool), weights)
            let lowest = layers.builder.literal(-Float.greatestFiniteMagnitude)
            let shown = try layers.apply(Select(), counts, hidden, lowest)
            return try layers.apply(Reduce(.max, axes: [1], keepsAxes: false), shown)
        case .cls:
            let chosen = try layers.apply(
                Select(), try first(in: &layers), hidden, layers.builder.literal(0))
            return try layers.apply(sum, chosen)
        case .lastToken:
            let weighted = try layers.apply(Multiply(), hidden, weights)
            let chosen = try layers.apply(
                Select(), try last(in: &layers), weighted, layers.builder.literal(0))
            return try layers.apply(sum, chosen)
        }
    }

    /// Returns the sum of hidden states by `weights`, divided by a function of the weights' sum.
    private func mean(
        _ weights: Value, in layers: inout LayerBuilder, _ denominator: (inout LayerBuilder, Value) throws -> Value
    ) throws -> Value {
        let sum = Reduce(.sum, axes: [1], keepsAxes: false)
        let total = try layers.apply(sum, try layers.apply(Multiply(), hidden, weights))
        let count = try layers.apply(Maximum(), try layers.apply(sum, weights), layers.builder.literal(1e-9))
        return try layers.apply(Divide(), total, try denominator(&layers, count))
    }

    /// Returns BOOL[batch, sequence, 1]: true for the first token that is not padding; for the first token if all are.
    private func first(in layers: inout LayerBuilder) throws -> Value {
        let counts = try counts(in: &layers)
        let order = try layers.apply(Multiply(), indices, layers.builder.literal(-1))
        // Tokens score above all padding, and no two scores are equal.
        let above = try layers.apply(Multiply(), counts, layers.builder.literal(Float(2 * positions)))
        return try isLargest(try layers.apply(Add(), above, order), in: &layers)
    }

    /// Returns BOOL[batch, sequence, 1]: true for the last token that is not padding; for all tokens if all are.
    private func last(in layers: inout LayerBuilder) throws -> Value {
        // Float16, in which some formats compute, holds numbers up to 2048 exactly.
        let number = try layers.apply(Add(), indices, layers.builder.literal(1))
        return try isLargest(try layers.apply(Multiply(), try counts(in: &layers), number), in: &layers)
    }

    /// Returns F32[batch, sequence, 1]: 0 for padding, else 1.
    private func counts(in layers: inout LayerBuilder) throws -> Value {
        try layers.apply(Cast(to: .float32), try layers.apply(Cast(to: .bool), weights))
    }

    private func isLargest(_ score: Value, in layers: inout LayerBuilder) throws -> Value {
        try layers.apply(Compare(.equal), score, try layers.apply(Reduce(.max, axes: [1]), score))
    }
}
