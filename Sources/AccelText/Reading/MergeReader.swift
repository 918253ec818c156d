/// Adds merges, given by the texts of their tokens, in the order of their ranks.
struct MergeReader {
    private let vocabulary: Vocabulary
    private let prefixLength: Int
    private(set) var merges: [Merge] = []
    /// The entry of the next merge's left token; -1: it is not in the vocabulary.
    private var left = -1
    private var missingLeft: [UInt8] = []
    /// The number after that of the last merged token.
    private var next: TokenID = 0

    /// - Parameter prefixLength: the length of what the right token begins with and the merged one has not.
    init(_ vocabulary: Vocabulary, prefixLength: Int) {
        self.vocabulary = vocabulary
        self.prefixLength = prefixLength
        // Nearly all words of a vocabulary come from merges.
        merges.reserveCapacity(vocabulary.count)
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
    mutating func setLeft(_ text: UnsafeBufferPointer<UInt8>) {
        left = vocabulary.entry(of: text)
        if left < 0 { missingLeft = Array(text) }
    }

    /// Adds the merge of the left token and this one. Returns what is wrong with it; nil if nothing is.
    mutating func addRight(_ text: UnsafeBufferPointer<UInt8>) -> String? {
        guard left >= 0 else { return missing(missingLeft) }
        let right = vocabulary.entry(of: text)
        guard right >= 0 else { return missing(Array(text)) }
        guard text.count >= prefixLength else { return "a merge's right token is shorter than the prefix" }
        let rest = UnsafeBufferPointer(rebasing: text[prefixLength...])
        // Most vocabularies have their merged tokens in the order of the merges.
        var merged = next
        if !vocabulary.has(next, left, then: rest) {
            let joined = vocabulary.withWord(left) { Array($0) } + rest
            merged = vocabulary.find(joined)
            guard merged >= 0 else { return missing(joined) }
        }
        next = merged == TokenID.max ? merged : merged + 1
        merges.append(Merge(vocabulary.id(of: left), vocabulary.id(of: right), rank: merges.count, merged))
        return nil
    }

    private func missing(_ token: [UInt8]) -> String {
        "the merge's token \"\(String(decoding: token.prefix(80), as: UTF8.self))\" is not in the vocabulary"
    }
}
