import AccelByteIO

/// Reads the list `added_tokens`.
enum AddedTokenReader {
    /// Returns the tokens with the numbers that `tokenizers` gives them: those of the vocabulary, else the next free ones.
    static func tokens(_ field: JSONField, _ vocabulary: Vocabulary) throws -> [AddedToken] {
        guard field.exists else { return [] }
        var numbering = AddedTokenNumbers(vocabulary)
        var tokens: [AddedToken] = []
        for entry in try field.array() {
            _ = try entry["id"].int(in: 0...Int(TokenID.max))
            let content = try entry["content"].string()
            guard !content.isEmpty else { continue }
            tokens.append(
                AddedToken(
                    id: numbering.number(of: content), content: content,
                    isSingleWord: try entry["single_word"].bool(), stripsLeft: try entry["lstrip"].bool(),
                    stripsRight: try entry["rstrip"].bool(), isNormalized: try entry["normalized"].bool(),
                    isSpecial: try entry["special"].bool()))
        }
        return tokens
    }
}

/// Gives numbers to added tokens.
struct AddedTokenNumbers {
    private let vocabulary: Vocabulary
    private var next: TokenID
    /// By the bytes of the content.
    private var known: [[UInt8]: TokenID] = [:]

    init(_ vocabulary: Vocabulary) {
        self.vocabulary = vocabulary
        next = TokenID(vocabulary.count)
    }

    mutating func number(of content: String) -> TokenID {
        let bytes = Array(content.utf8)
        if let id = known[bytes] { return id }
        var id = vocabulary.find(bytes)
        if id < 0 {
            id = next
            next += 1
        }
        known[bytes] = id
        return id
    }
}
