public import AccelByteIO

/// The tokens of a model that gives each frame of a sound one of them (connectionist temporal classification, Graves et al. 2006): equal
/// neighbours are one token, and the blank is none.
public struct CTCVocabulary: Equatable, Sendable {
    /// The texts of tokens, by their numbers.
    public let texts: [Int: String]
    /// The number of the blank: `pad_token` of tokenizer_config.json.
    public let blank: Int
    /// The number of the token between words, `word_delimiter_token`; nil for a model of characters alone.
    public let delimiter: Int?
    /// The numbers of tokens without a text: `bos_token`, `eos_token` and `unk_token`.
    public let silent: Set<Int>
    /// Whether texts are written in small letters: `do_lower_case`.
    public let isLowercase: Bool

    /// Reads vocab.json, with the names of its tokens in tokenizer_config.json. Names that are not stated there are those of
    /// Wav2Vec2CTCTokenizer.
    /// - Returns: nil if the model has no vocab.json, or one without a blank: another tokenizer's.
    /// - Throws: `FormatError` naming a field of another type.
    public init?(files: NamedFiles) throws {
        let vocabulary = try files.document("vocab.json")
        guard vocabulary.exists else { return nil }
        let settings = try files.document("tokenizer_config.json")
        var numbers: [String: Int] = [:]
        for (text, number) in try vocabulary.members() {
            if case .object? = number.value {
                throw number.error("is the vocabulary of one of several languages, of which none is chosen")
            }
            numbers[text] = try number.int(in: 0...1 << 24)
        }
        func number(_ name: String, usual: String) throws -> Int? {
            let field = settings[name]
            guard field.value != nil else { return numbers[usual] }
            guard field.exists else { return nil }
            return numbers[try field["content"].exists ? field["content"].string() : field.string()]
        }
        guard let blank = try number("pad_token", usual: "<pad>") else { return nil }
        self.blank = blank
        delimiter = try number("word_delimiter_token", usual: "|")
        silent = Set(
            try [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")]
                .compactMap { try number($0.0, usual: $0.1) })
        isLowercase = try settings["do_lower_case"].exists ? settings["do_lower_case"].bool() : false
        texts = Dictionary(numbers.map { ($1, $0) }) { first, second in min(first, second) }
    }

    /// Returns the text of a token as it is written.
    public func text(of token: Int) -> String {
        guard token != blank, token != delimiter, !silent.contains(token), let text = texts[token] else { return "" }
        return isLowercase ? text.lowercased() : text
    }
}
