/// A token that is found in the text before the model sees it.
public struct AddedToken: Equatable, Sendable {
    /// The number of the token.
    public var id: TokenID
    /// The text of the token.
    public var content: String
    /// It is found only between what are no word characters.
    public var isSingleWord: Bool
    /// It takes the white space on its left.
    public var stripsLeft: Bool
    /// It takes the white space on its right.
    public var stripsRight: Bool
    /// It is found in the normalized text, in its own normalized form.
    public var isNormalized: Bool
    /// It is left out by `decode` on request.
    public var isSpecial: Bool

    /// Creates a token.
    public init(
        id: TokenID, content: String, isSingleWord: Bool = false, stripsLeft: Bool = false, stripsRight: Bool = false,
        isNormalized: Bool = true, isSpecial: Bool = false
    ) {
        self.id = id
        self.content = content
        self.isSingleWord = isSingleWord
        self.stripsLeft = stripsLeft
        self.stripsRight = stripsRight
        self.isNormalized = isNormalized
        self.isSpecial = isSpecial
    }
}

/// The added tokens of a tokenizer.
struct AddedTokens: Sendable {
    /// In the order of their numbers.
    let tokens: [AddedToken]
    /// The text of each token in decoding: its normalized form, where it is found by that.
    private(set) var texts: [[UInt8]]
    private let numbers: [TokenID: Int]
    private let byContent: [[UInt8]: TokenID]
    private let specialTexts: Set<[UInt8]>
    private(set) var plain: TokenFinder
    let normalized: TokenFinder

    /// - Parameter tokens: the last of those with the same number counts.
    init(_ tokens: [AddedToken], normalize: ([UInt8]) -> [UInt8]) {
        var last: [TokenID: AddedToken] = [:]
        for token in tokens where !token.content.isEmpty { last[token.id] = token }
        self.tokens = last.values.sorted { $0.id < $1.id }
        texts = self.tokens.map { $0.isNormalized ? normalize(Array($0.content.utf8)) : Array($0.content.utf8) }
        numbers = Dictionary(uniqueKeysWithValues: self.tokens.enumerated().map { ($1.id, $0) })
        // As bytes: strings are equal if they differ in their composition only.
        byContent = Dictionary(tokens.map { (Array($0.content.utf8), $0.id) }) { $1 }
        specialTexts = Set(tokens.filter(\.isSpecial).map { Array($0.content.utf8) })
        let indexed = zip(self.tokens, texts)
        plain = TokenFinder(indexed.filter { !$0.0.isNormalized }.map { ($0.0, $0.1) })
        normalized = TokenFinder(indexed.filter(\.0.isNormalized).map { ($0.0, $0.1) })
    }

    /// The tokens of sentencepiece: those that are listed are not found in texts; others are, as they are, in normalized text.
    /// - Parameter unknown: the text in decoding of the token for unknown characters.
    init(listed: [AddedToken], found: [AddedToken], unknown: TokenID, _ unknownText: String) {
        self.init(listed + found) { $0 }
        plain = TokenFinder([])
        if let number = numbers[unknown] { texts[number] = Array(unknownText.utf8) }
    }

    /// - Parameter normalizer: makes the form in which normalized tokens are found.
    init(_ tokens: [AddedToken], normalizer: Normalizer?) {
        self.init(tokens) { content in
            guard let normalizer else { return content }
            var text = ScalarText()
            var scratch = PatternScratch()
            content.withUnsafeBufferPointer { text.assign($0, base: 0, tracksOrigins: false) }
            normalizer.apply(to: &text, &scratch)
            return text.scalars.reduce(into: []) { UTF8Text.append($1, to: &$0) }
        }
    }

    func id(of content: String) -> TokenID? { byContent[Array(content.utf8)] }

    /// Returns the text of a token in decoding; nil if it is not an added one.
    func text(_ id: TokenID) -> [UInt8]? { numbers[id].map { texts[$0] } }

    func token(_ id: TokenID) -> AddedToken? { numbers[id].map { tokens[$0] } }

    /// The text is that of a special token.
    func isSpecial(_ text: [UInt8]) -> Bool { specialTexts.contains(text) }

    var hasSpecial: Bool { !specialTexts.isEmpty }
}

/// Finds added tokens in a text.
struct TokenFinder: Sendable {
    private let matcher: PhraseMatcher
    private let tokens: [AddedToken]

    init(_ phrases: [(token: AddedToken, text: [UInt8])]) {
        tokens = phrases.map(\.token)
        matcher = PhraseMatcher(phrases.map(\.text))
    }

    var isEmpty: Bool { matcher.isEmpty }

    /// Calls `body` with consecutive parts of a text that is not empty: text with -1, tokens with their numbers.
    func parts(of text: UnsafeBufferPointer<UInt8>, _ body: (Range<Int>, TokenID) -> Void) {
        var done = 0
        var search = 0
        while let match = matcher.find(in: text, from: search) {
            search = match.range.upperBound
            let token = tokens[match.phrase]
            var (start, end) = (match.range.lowerBound, match.range.upperBound)
            if token.isSingleWord, isWord(text, before: start) || isWord(text, at: end) { continue }
            if token.stripsLeft { start = max(startOfSpace(text, before: start), done) }
            if token.stripsRight { end = endOfSpace(text, from: end) }
            if done < start { body(done..<start, -1) }
            body(min(start, end)..<end, token.id)
            done = end
        }
        if done < text.count { body(done..<text.count, -1) }
    }

    private func isWord(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        index < text.count && UnicodeData.word.contains(UTF8Text.scalar(text, index).value)
    }

    private func isWord(_ text: UnsafeBufferPointer<UInt8>, before index: Int) -> Bool {
        index > 0 && isWord(text, at: previous(text, index))
    }

    private func previous(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int {
        var index = index - 1
        while index > 0, UTF8Text.continues(text[index]) { index -= 1 }
        return index
    }

    private func startOfSpace(_ text: UnsafeBufferPointer<UInt8>, before index: Int) -> Int {
        var index = index
        while index > 0 {
            let before = previous(text, index)
            guard UnicodeData.whiteSpace.contains(UTF8Text.scalar(text, before).value) else { break }
            index = before
        }
        return index
    }

    private func endOfSpace(_ text: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
        var index = index
        while index < text.count {
            let (scalar, length) = UTF8Text.scalar(text, index)
            guard UnicodeData.whiteSpace.contains(scalar) else { break }
            index += length
        }
        return index
    }
}
