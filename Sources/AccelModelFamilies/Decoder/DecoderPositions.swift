import AccelByteIO
import AccelPrograms
import AccelTensors

/// The positions of a block's tokens in the sequence, with the attention masks and rotations that follow from them.
///
/// A block starts at `position`; the free dimensions `tokens` and `cache` are the lengths of block and cache. A whole text has no cache:
/// the free dimension `sequence` is the length of both.
struct DecoderPositions {
    /// F32[tokens, 1]: the positions of the block's tokens.
    private let queries: Value
    /// F32[cache]: 0, 1, 2, ...
    private let keys: Value
    /// The number of the block's tokens.
    private let length: Dimension
    /// The number of keys.
    private let cache: Dimension
    /// F32[batch, 1, 1 or tokens, cache]: 0 for tokens, a low number for padding; nil if there is no padding.
    private let padding: Value?
    /// Tokens attend to those after them.
    private let seesLater: Bool
    private var masks: [Int?: Value] = [:]
    private var rotations: [(rotary: RotaryEmbedding, rotation: Rotation)] = []

    /// The rotary angles of a head's pairs at each position: F32[tokens, pairs] each.
    struct Rotation {
        let cos: Value
        let sin: Value
    }

    /// - Parameter position: the position of the block's first token, I64[1].
    init(position: Value, in layers: inout LayerBuilder) throws {
        let start = try layers.apply(Cast(to: .float32), position)
        let block = try layers.apply(
            Reshape(to: ["tokens", 1]), try Self.count(to: "tokens", in: &layers))
        queries = try layers.apply(Add(), block, start)
        keys = try Self.count(to: "cache", in: &layers)
        (length, cache, padding, seesLater) = ("tokens", "cache", nil, false)
    }

    /// - Parameter mask: the attention mask of whole texts, I64[batch, sequence].
    /// - Parameter seesLater: tokens attend to those after them.
    init(whole mask: Value, seesLater: Bool, in layers: inout LayerBuilder) throws {
        self.seesLater = seesLater
        (length, cache) = ("sequence", "sequence")
        keys = try Self.count(to: length, in: &layers)
        queries = try layers.apply(Reshape(to: [length, 1]), keys)
        padding = try layers.additiveMask(try layers.apply(Cast(to: .bool), mask))
    }

    /// The positions of a whole text without padding, whose tokens attend to those before them.
    /// - Parameter length: the number of its tokens.
    init(wholeText layers: inout LayerBuilder, length: Dimension = "sequence") throws {
        (self.length, cache, padding, seesLater) = (length, length, nil, false)
        keys = try Self.count(to: length, in: &layers)
        queries = try layers.apply(Reshape(to: [length, 1]), keys)
    }

    /// The positions of a block in a cache whose masks the caller makes.
    /// - Parameters:
    ///   - positions: those of the block's tokens, I64[1, tokens].
    ///   - mask: a number for each key and token that is added to scores, F32[1, cache, 1, tokens]; low for hidden keys.
    init(listed positions: Value, mask: Value, in layers: inout LayerBuilder) throws {
        queries = try layers.apply(Reshape(to: ["tokens", 1]), try layers.apply(Cast(to: .float32), positions))
        keys = try Self.count(to: "cache", in: &layers)
        padding = try layers.apply(Transpose([0, 2, 3, 1]), mask)
        // The mask hides later tokens.
        (length, cache, seesLater) = ("tokens", "cache", true)
    }

    private static func ones(_ length: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let one = layers.builder.literal(HostTensor([1.0], [1]), name: "one")
        return try layers.apply(Expand(to: [length]), one)
    }

    /// Returns 0, 1, 2, ... as F32[length].
    private static func count(to length: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let sums = try layers.apply(CumulativeSum(axis: 0), try ones(length, in: &layers))
        return try layers.apply(Subtract(), sums, layers.builder.literal(1))
    }

    /// Returns the attention mask F32[tokens, cache], or for whole texts one that broadcasts to F32[batch, 1, sequence, sequence]: 0 for
    /// positions that a token attends to, else the lowest float32. A token attends to itself and earlier positions, limited to the last
    /// `window` positions, and where it sees later ones likewise to these.
    mutating func mask(window: Int?, in layers: inout LayerBuilder) throws -> Value {
        if let mask = masks[window] { return mask }
        let (zero, hidden) = (layers.builder.literal(0), layers.builder.literal(-Float.greatestFiniteMagnitude))
        var mask = padding ?? zero
        if !seesLater {
            let isEarlier = try layers.apply(Compare(.lessOrEqual), keys, queries)
            mask = try layers.apply(Select(), isEarlier, mask, hidden)
        } else if let window {
            let after = try layers.apply(Add(), queries, layers.builder.literal(Float(window)))
            mask = try layers.apply(Select(), try layers.apply(Compare(.less), keys, after), mask, hidden)
        }
        if let window {
            let before = try layers.apply(Subtract(), queries, layers.builder.literal(Float(window)))
            mask = try layers.apply(
                Select(), try layers.apply(Compare(.greater), keys, before), mask, hidden)
        }
        masks[window] = mask
        return mask
    }

    /// Returns the positions of the block's tokens, I64[tokens].
    func rows(in layers: inout LayerBuilder) throws -> Value {
        try layers.apply(Cast(to: .int64), try layers.apply(Reshape(to: [length]), queries))
    }

    mutating func rotation(by rotary: RotaryEmbedding, in layers: inout LayerBuilder) throws -> Rotation {
        if let known = rotations.first(where: { $0.rotary == rotary }) { return known.rotation }
        let angles = try layers.apply(Multiply(), queries, try frequencies(of: rotary, in: &layers))
        var (cos, sin) = (try layers.apply(Cos(), angles), try layers.apply(Sin(), angles))
        if rotary.attentionFactor != 1 {
            let factor = layers.builder.literal(Float(rotary.attentionFactor))
            (cos, sin) = (try layers.apply(Multiply(), cos, factor), try layers.apply(Multiply(), sin, factor))
        }
        rotations.append((rotary, Rotation(cos: cos, sin: sin)))
        return Rotation(cos: cos, sin: sin)
    }

    /// Returns the frequencies F32[pairs], which may depend on the cache length.
    private func frequencies(of rotary: RotaryEmbedding, in layers: inout LayerBuilder) throws -> Value {
        let pairs = rotary.frequencies.count
        func table(_ floats: [Float]) -> HostTensor { HostTensor(floats, [pairs]) }
        let plain = layers.builder.literal(table(rotary.frequencies), name: "frequencies")
        switch rotary.growth {
        case .none:
            return plain
        case .switching(let long, let original):
            let length = try cacheLength(in: &layers)
            let isLong = try layers.apply(Compare(.greater), length, layers.builder.literal(Float(original)))
            return try layers.apply(
                Select(), isLong, layers.builder.literal(table(long), name: "long_frequencies"), plain)
        case .stretching(let factor, let original):
            // The base grows by g^(d/(d-2)), so the frequency of pair i falls by g^(2i/(d-2)).
            let excess = try layers.apply(
                Maximum(),
                try layers.apply(Subtract(), try cacheLength(in: &layers), layers.builder.literal(Float(original))),
                layers.builder.literal(0))
            let growth = try layers.apply(
                Add(), try layers.apply(Multiply(), excess, layers.builder.literal(Float(factor / Double(original)))),
                layers.builder.literal(1))
            let exponents = (0..<pairs).map { Float(2 * $0) / Float(2 * pairs - 2) }
            let slower = try layers.apply(
                Power(), growth, layers.builder.literal(table(exponents), name: "exponents"))
            return try layers.apply(Divide(), plain, slower)
        }
    }

    /// Returns the cache length, F32[1].
    private func cacheLength(in layers: inout LayerBuilder) throws -> Value {
        try layers.apply(Reduce(.sum, axes: [0]), try Self.ones(cache, in: &layers))
    }
}
