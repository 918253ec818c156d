import AccelText

/// A word of a text, with the tokens that tell its time.
struct TokenWord: Equatable, Sendable {
    /// With the white space before it.
    var text: String
    var tokens: Range<Int>

    /// Languages that are written without spaces: each of their characters is a word.
    private static let withoutSpaces: Set<String> = ["zh", "ja", "th", "lo", "my", "yue"]
    private static let opening: Set<String> = ["\"", "'", "“", "¿", "(", "[", "{", "-"]
    private static let closing: Set<String> = [
        "\"", "'", ".", "。", ",", "，", "!", "！", "?", "？", ":", "：", "”", ")", "]", "}", "、",
    ]
    /// The marks at the end of a sentence.
    static let endMarks: Set<String> = [".", "。", "!", "！", "?", "？"]

    /// Splits a text into words; marks are words, too.
    /// - Parameter language: the code of the language that the text is written in.
    static func words(of tokens: [TokenID], by tokenizer: Tokenizer, language: String?) -> [TokenWord] {
        let isSpaced = language.map { !withoutSpaces.contains($0) } ?? true
        return pieces(of: tokens, by: tokenizer).reduce(into: []) { words, piece in
            let mark = piece.text.drop(while: \.isWhitespace)
            let isMark = mark.count == 1 && mark.allSatisfy { $0.isASCII && ($0.isPunctuation || $0.isSymbol) }
            if isSpaced, let last = words.indices.last, !piece.text.hasPrefix(" "), !isMark {
                words[last].text += piece.text
                words[last].tokens = words[last].tokens.lowerBound..<piece.tokens.upperBound
            } else {
                words.append(piece)
            }
        }
    }

    /// The shortest runs of tokens that are characters.
    private static func pieces(of tokens: [TokenID], by tokenizer: Tokenizer) -> [TokenWord] {
        var decoder = tokenizer.streamDecoder()
        var (pieces, start): ([TokenWord], Int) = ([], 0)
        for (index, token) in tokens.enumerated() {
            let text = decoder.append(token)
            guard !text.isEmpty else { continue }
            pieces.append(TokenWord(text: text, tokens: start..<index + 1))
            start = index + 1
        }
        let rest = decoder.finish()
        if let last = pieces.indices.last {
            pieces[last].text += rest
            pieces[last].tokens = pieces[last].tokens.lowerBound..<tokens.count
        } else if !rest.isEmpty {
            pieces = [TokenWord(text: rest, tokens: 0..<tokens.count)]
        }
        return pieces
    }

    /// Joins marks with the word before or after them, which keeps its time.
    static func joiningMarks(_ words: [TranscriptionSegment.Word]) -> [TranscriptionSegment.Word] {
        var joined: [TranscriptionSegment.Word] = []
        /// Marks that open the next word.
        var open = ""
        for word in words {
            let mark = String(word.text.drop(while: \.isWhitespace))
            if word.text.hasPrefix(" "), opening.contains(mark) {
                open += word.text
            } else if open.isEmpty, closing.contains(word.text), let last = joined.indices.last {
                joined[last].text += word.text
            } else {
                joined.append(word)
                joined[joined.count - 1].text = open + word.text
                open = ""
            }
        }
        if !open.isEmpty, let last = joined.indices.last { joined[last].text += open }
        return joined
    }
}
