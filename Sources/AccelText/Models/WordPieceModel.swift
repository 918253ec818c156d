/// WordPiece: the longest word of the vocabulary again and again; those after the first have a prefix.
struct WordPieceModel: Sendable {
    let vocabulary: Vocabulary
    let unknownToken: String
    private let unknown: TokenID
    private let longestWord: Int
    private let starts: PrefixTrie
    private let continuations: PrefixTrie

    /// - Parameter longestWord: in characters; longer words are unknown.
    init(_ vocabulary: Vocabulary, unknownToken: String, continuingPrefix: [UInt8], longestWord: Int) {
        self.vocabulary = vocabulary
        self.unknownToken = unknownToken
        unknown = vocabulary.find(unknownToken)
        self.longestWord = longestWord
        starts = vocabulary.trie()
        continuations = vocabulary.trie(after: continuingPrefix)
    }

    /// Appends the tokens of a word. Returns false if the word is unknown, and the vocabulary has no unknown token.
    func append(_ word: UnsafeBufferPointer<UInt8>, to output: inout TokenOutput) -> Bool {
        let first = output.ids.count
        let isLong = word.count > longestWord && word.reduce(0) { $0 + (UTF8Text.continues($1) ? 0 : 1) } > longestWord
        var start = 0
        while !isLong, start < word.count {
            var (length, id): (Int, TokenID) = (0, -1)
            let trie = start == 0 ? starts : continuations
            trie.prefixes(of: word, from: start) { (length, id) = ($0, $1) }
            guard id >= 0 else { break }
            output.append(id, Int32(truncatingIfNeeded: start), Int32(truncatingIfNeeded: start + length))
            start += length
        }
        if !isLong, start == word.count { return true }
        guard unknown >= 0 else { return false }
        let count = output.ids.count - first
        output.ids.removeLast(count)
        output.starts.removeLast(count)
        output.ends.removeLast(count)
        output.append(unknown, 0, Int32(truncatingIfNeeded: word.count))
        return true
    }
}
