import AccelPrograms
import AccelTensors

extension LayerBuilder {
    /// Returns the first token of each sequence, F32[batch, width].
    mutating func firstToken(_ x: Value, width: Int, batch: Dimension = "batch") throws -> Value {
        let token = try apply(Slice(begin: [0, 0, 0], sizes: [batch, 1, .fixed(width)]), x)
        return try apply(Reshape(to: [batch, .fixed(width)]), token)
    }

    /// Splits F32[batch, sequence, count] into F32[batch, sequence] each.
    mutating func columns(of x: Value, count: Int) throws -> [Value] {
        try (0..<count).map { index in
            let column = try apply(Slice(begin: [0, 0, .fixed(index)], sizes: ["batch", "sequence", 1]), x)
            return try apply(Reshape(to: ["batch", "sequence"]), column)
        }
    }

    /// Returns 0, 1, 2, ... as F32[length, 1]; `length` is at most `largest`.
    mutating func positions(_ length: Dimension, largest: Int) throws -> Value {
        let table = HostTensor((0..<largest).map(Float.init), [largest, 1])
        return try apply(Slice(begin: [0, 0], sizes: [length, 1]), builder.literal(table, name: "positions"))
    }

    /// Returns an additive attention mask.
    /// - Parameter seen: BOOL[batch, length]
    /// - Returns: F32[batch, 1, 1, length]: 0 for visible tokens, else the lowest float32.
    mutating func additiveMask(
        _ seen: Value, batch: Dimension = "batch", length: Dimension = "sequence"
    ) throws -> Value {
        let zero = builder.literal(0)
        let lowest = builder.literal(-Float.greatestFiniteMagnitude)
        let flags = try apply(Reshape(to: [batch, 1, 1, length]), seen)
        return try apply(Select(), flags, zero, lowest)
    }
}
