/// The tokens of a text, or of a pair of texts.
public struct Encoding: Equatable, Sendable {
    /// The numbers of the tokens.
    public var ids: [TokenID] = []
    /// The range of bytes of each token in its text, as UTF-8; empty at 0 for tokens that were added around it. Empty if no offsets were
    /// asked for.
    public var offsets: [Range<Int>] = []
    /// The segment of each token: what models call token type.
    public var typeIDs: [Int32] = []

    /// Creates an empty encoding.
    public init() {}

    mutating func append(_ other: Encoding) {
        ids += other.ids
        offsets += other.offsets
        typeIDs += other.typeIDs
    }
}

/// An encoding on its way through post-processors.
struct Segment {
    var encoding: Encoding
    /// How many white characters each token's text begins and ends with; filled only if a processor trims offsets.
    var spaces: [(leading: Int, trailing: Int)] = []
    /// The text that the offsets refer to.
    var text: [UInt8] = []
}
