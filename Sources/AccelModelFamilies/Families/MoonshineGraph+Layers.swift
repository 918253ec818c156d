import AccelPrograms
import AccelTensors

/// The layers that Moonshine's parts share.
extension MoonshineGraph {
    mutating func norm(_ name: String, _ x: Value) throws -> Value {
        try layers.layerNorm(name, x, width: config.width, epsilon: Self.epsilon, isBiased: false)
    }

    /// Returns x plus the result of `body` for the norm of x.
    mutating func residual(
        _ name: String, after normName: String, _ x: Value, _ body: (inout MoonshineGraph, Value) throws -> Value
    ) throws -> Value {
        let normal = try norm(normName, x)
        let made = try body(&self, normal)
        return try layers.in(name) { try $0.apply(Add(), x, made) }
    }

    /// Projects x F32[batch, length, width] to heads, F32[batch, heads, length, head width].
    mutating func heads(_ name: String, _ x: Value) throws -> Value {
        try layers.heads(name, x, config.heads, width: config.width, isBiased: config.hasAttentionBias)
    }

    /// Returns the query, key and value of x's attention to itself.
    mutating func selfAttention(
        _ name: String, _ x: Value, _ rotation: DecoderPositions.Rotation
    ) throws -> [Value] {
        [
            try rotated(name, try heads("\(name).q_proj", x), rotation),
            try rotated(name, try heads("\(name).k_proj", x), rotation),
            try heads("\(name).v_proj", x),
        ]
    }

    mutating func attend(_ name: String, _ operands: [Value]) throws -> Value {
        let width = config.width
        let mixed = try layers.attended(name, operands, heads: config.heads, width: width)
        return try layers.linear("\(name).o_proj", mixed, from: width, to: width, isBiased: false)
    }

    /// Rotates the pairs of neighbours at the beginning of each head, F32[batch, heads, length, head width].
    ///
    /// The pairs come apart before: first elements, second elements, rest. Scores do not depend on that order, which queries and keys
    /// share.
    private mutating func rotated(
        _ name: String, _ x: Value, _ rotation: DecoderPositions.Rotation
    ) throws -> Value {
        let (width, pairs) = (config.headWidth, config.rotary.frequencies.count)
        return try layers.in(name) { layers in
            let rows = Array(layers.builder.type(of: x).dimensions.dropLast())
            func columns(_ range: Range<Int>) throws -> Value {
                let begin: [Dimension] = [0, 0, 0, .fixed(range.lowerBound)]
                return try layers.apply(Slice(begin: begin, sizes: rows + [.fixed(range.count)]), x)
            }
            let together = try columns(0..<2 * pairs)
            let apart = try layers.apply(
                Transpose([0, 1, 2, 4, 3]), try layers.apply(Reshape(to: rows + [.fixed(pairs), 2]), together))
            var ordered = try layers.apply(Reshape(to: rows + [.fixed(2 * pairs)]), apart)
            if 2 * pairs < width {
                ordered = try layers.apply(Concat(axis: 3), ordered, try columns(2 * pairs..<width))
            }
            return try layers.apply(Rope(), ordered, rotation.cos, rotation.sin)
        }
    }

    /// Returns `fc2(activation(gate) * y)` for the halves y and gate of `fc1(x)`.
    mutating func gatedFeedForward(_ name: String, _ x: Value) throws -> Value {
        let (width, inner) = (config.width, config.intermediate)
        let both = try layers.linear("\(name).fc1", x, from: width, to: 2 * inner)
        let product = try layers.in(name) { [config] layers in
            func half(_ first: Int) throws -> Value {
                try layers.apply(
                    Slice(begin: [0, 0, .fixed(first)], sizes: ["batch", "tokens", .fixed(inner)]), both)
            }
            let (value, gate) = (try half(0), try half(inner))
            return try layers.apply(Multiply(), try layers.apply(config.decoderActivation, gate), value)
        }
        return try layers.linear("\(name).fc2", product, from: inner, to: width)
    }
}

extension LayerBuilder {
    /// Returns which of the windows on a sound lie within it, BOOL[batch, count].
    /// - Parameters:
    ///   - samples: F32[batch, 1], the samples of the sound.
    ///   - reach: the samples of a window.
    ///   - hop: the samples from the beginning of a window to that of the next one.
    mutating func complete(_ samples: Value, reach: Int, hop: Int, of count: Dimension) throws -> Value {
        let step = builder.literal(HostTensor([Float(hop)], [1]), name: "hop")
        let steps = try apply(CumulativeSum(axis: 0), try apply(Expand(to: [count]), step))
        // The first window ends after `reach` samples.
        let ends = try apply(Add(), steps, builder.literal(Float(reach - hop)))
        return try apply(Compare(.lessOrEqual), ends, samples)
    }

    /// Returns which rows along an axis have a number other than 0: BOOL of the axes of x, with a size of 1 on this one.
    mutating func isNonzero(_ x: Value, along axis: Int) throws -> Value {
        let flags = try apply(Compare(.notEqual), x, builder.literal(0))
        let largest = try apply(Reduce(.max, axes: [axis]), try apply(Cast(to: .float32), flags))
        return try apply(Cast(to: .bool), largest)
    }
}
