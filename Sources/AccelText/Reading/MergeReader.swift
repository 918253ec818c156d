/// Adds merges, given by the texts of their tokens, in the order of their ranks.
struct MergeReader {
    private let vocabulary: Vocabulary
    private let prefixLength: Int
    private(set) var merges: MergeTable
    private var rank = 0
    private var joined: [UInt8] = []
    /// The number after that of the last merged token.
    private var next: TokenID = 0

    /// - Parameter prefixLength: the length of what the right token begins with and the merged one has not.
    init(_ vocabulary: Vocabulary, prefixLength: Int, expecting count: Int) {
        self.vocabulary = vocabulary
        self.prefixLength = prefixLength
        merges = MergeTable(expecting: count)
    }

    /// Adds a merge such as `t h`. Returns what is wrong with it; nil if nothing is.
    mutating func add(line: UnsafeBufferPointer<UInt8>) -> String? {
        if line.starts(with: "#version".utf8) { return nil }
        guard let space = line.firstIndex(of: 0x20), !line[(space + 1)...].contains(0x20) else {
            return "a merge needs two tokens with a space between them"
        }
        setLeft(UnsafeBufferPointer(rebasing: line[..<space]))
        return addRight(UnsafeBufferPointer(rebasing: line[(space + 1)...]))
    }

    /// Sets the left token of the next merge.
    mutating func setLeft(_ left: UnsafeBufferPointer<UInt8>) {
        joined.removeAll(keepingCapacity: true)
        joined.append(contentsOf: left)
    }

    /// Adds the merge of the left token and this one. Returns what is wrong with it; nil if nothing is.
    mutating func addRight(_ right: UnsafeBufferPointer<UInt8>) -> String? {
        let left = joined.withUnsafeBufferPointer { vocabulary.find($0) }
        guard left >= 0 else { return missing(joined) }
        let rightID = vocabulary.find(right)
        guard rightID >= 0 else { return missing(Array(right)) }
        guard right.count >= prefixLength else { return "a merge's right token is shorter than the prefix" }
        joined.append(contentsOf: right[prefixLength...])
        // Most vocabularies have their merged tokens in the order of the merges.
        let merged = joined.withUnsafeBufferPointer { vocabulary.has(next, $0) ? next : vocabulary.find($0) }
        guard merged >= 0 else { return missing(joined) }
        next = merged == TokenID.max ? merged : merged + 1
        merges.add(left, rightID, rank: rank, merged)
        rank += 1
        return nil
    }

    private func missing(_ token: [UInt8]) -> String {
        "the merge's token \"\(String(decoding: token.prefix(80), as: UTF8.self))\" is not in the vocabulary"
    }
}
