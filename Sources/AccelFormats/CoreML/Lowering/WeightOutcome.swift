/// The storage of a weight in the written file.
public struct WeightOutcome: Equatable, Sendable {
    /// The operation: `const` for plain numbers, else the one that decompresses the weight.
    public let operation: String
    /// Bytes in the file: codes, tables, scales, masks.
    public let byteCount: Int
    /// The number of elements.
    public let count: Int
    /// The reason that it is not stored in the recipe's scheme; nil if it is.
    public let fallback: String?
    /// The bits of the codes, and those in which they are stored; nil if they are the same.
    var widening: CodeWidening?
    /// The part that takes more bytes than the recipe specifies, with the reason; nil if there is none.
    var remark: String?

    /// Bits in the file for each element; 0 for an empty weight.
    public var bitsPerWeight: Double { count == 0 ? 0 : Double(byteCount * 8) / Double(count) }
}
