import AccelPrograms
import AccelTensors

extension LayerBuilder {
    /// F32[batch, width] of the first token of each sequence.
    mutating func firstToken(_ x: Value, width: Int, batch: Dimension = "batch") throws -> Value {
        let token = try apply(Slice(begin: [0, 0, 0], sizes: [batch, 1, .fixed(width)]), x)
        return try apply(Reshape(to: [batch, .fixed(width)]), token)
    }

    /// F32[length, 1]: 0, 1, 2, ..., up to a largest length.
    mutating func places(_ length: Dimension, largest: Int) throws -> Value {
        let table = HostTensor((0..<largest).map(Float.init), [largest, 1])
        return try apply(Slice(begin: [0, 0], sizes: [length, 1]), builder.literal(table, name: "positions"))
    }

    /// - Parameter seen: BOOL[batch, sequence]
    /// - Returns: F32[batch, 1, 1, sequence]: 0 where a token is seen, else the lowest float32.
    mutating func additiveMask(_ seen: Value, batch: Dimension = "batch") throws -> Value {
        let zero = builder.literal(0)
        let lowest = builder.literal(-Float.greatestFiniteMagnitude)
        let flags = try apply(Reshape(to: [batch, 1, 1, "sequence"]), seen)
        return try apply(Select(), flags, zero, lowest)
    }
}
