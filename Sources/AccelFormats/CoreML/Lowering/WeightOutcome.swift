/// The storage of a weight in the written file.
public struct WeightOutcome: Equatable, Sendable {
    /// The operation: `const` for plain numbers, else the one that decompresses the weight.
    public let operation: String
    /// Bytes in the file: codes, tables, scales, masks.
    public let byteCount: Int
    /// The number of elements.
    public let count: Int
    /// Why it is not stored as the recipe says; nil when it is.
    public let fallback: String?
    /// The bits of the codes, and those in which they are stored; nil if they are the same.
    var widening: CodeWidening?
    /// What takes more bytes than the recipe says; nil if nothing does.
    var remark: String?

    /// Bits in the file for each element; 0 for an empty weight.
    public var bitsPerWeight: Double { count == 0 ? 0 : Double(byteCount * 8) / Double(count) }
}
