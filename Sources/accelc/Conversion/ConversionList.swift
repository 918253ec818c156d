import AccelByteIO

/// A list of conversions, one per line: MODEL and options, as `convert` takes them. Quotes keep spaces in a word; a `#`
/// at the start of a word begins a remark.
struct ConversionList {
    struct Line {
        var number: Int
        var words: [String]
    }
    let path: String
    let lines: [Line]

    /// - Throws: `FormatError` for a quote that is left open.
    init(_ path: String) throws {
        self.path = path
        guard Files.kind(of: path) != .folder else {
            throw RequestError(
                "\(path) is a folder, and prewarm takes a text file: a model with its options in each line, as in "
                    + "\"MODEL --shape batch=1,sequence=128\"; for one model, accelc convert")
        }
        let text = try MappedFile(path).bytes.withBytes { String(decoding: $0, as: UTF8.self) }
        lines = try text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            index, line in
            let words = try Self.words(line) {
                FormatError(file: path, reason: "line \(index + 1): a quote is left open")
            }
            return words.isEmpty ? nil : Line(number: index + 1, words: words)
        }
    }

    private static func words(_ line: Substring, openQuote: () -> FormatError) throws -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            switch (quote, character) {
            case (let open?, character) where open == character: quote = nil
            case (_?, _): word?.append(character)
            case (nil, "\""), (nil, "'"):
                quote = character
                word = word ?? ""
            case (nil, _) where character.isWhitespace:
                if let word { words.append(word) }
                word = nil
            case (nil, "#") where word == nil: return words
            default: word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { throw openQuote() }
        return words + (word.map { [$0] } ?? [])
    }
}
