public import AccelByteIO
import AccelText

/// The tokens of a model that gives each frame of a sound one of them (connectionist temporal classification, Graves et al. 2006): equal
/// neighbours are one token, and the blank is none. Transducers, which give a frame any number of tokens, have such a vocabulary too.
public struct CTCVocabulary: Equatable, Sendable {
    /// The texts of tokens, by their numbers.
    public let texts: [Int: String]
    /// The number of the blank: `pad_token` of tokenizer_config.json; for a model of pieces of words `pad_token_id` of config.json, or for a
    /// transducer `blank_token_id`.
    public let blank: Int
    /// The number of the token between words, `word_delimiter_token`; nil for a model of characters alone, or of pieces of words.
    public let delimiter: Int?
    /// The sign at the start of each token that begins a word, `▁` of SentencePiece; nil for a model of characters.
    public let wordMark: String?
    /// The numbers of tokens without a text: `bos_token`, `eos_token` and `unk_token`, or all special tokens of tokenizer.json.
    public let silent: Set<Int>
    /// Whether texts are written in small letters: `do_lower_case`.
    public let isLowercase: Bool

    private init(
        texts: [Int: String], blank: Int, delimiter: Int?, wordMark: String?, silent: Set<Int>, isLowercase: Bool
    ) {
        (self.texts, self.blank, self.delimiter, self.wordMark) = (texts, blank, delimiter, wordMark)
        (self.silent, self.isLowercase) = (silent, isLowercase)
    }

    /// Reads vocab.json, with the names of its tokens in tokenizer_config.json; without it tokenizer.json, whose tokens are pieces of words.
    /// Names that are not stated in tokenizer_config.json are those of Wav2Vec2CTCTokenizer.
    /// - Returns: nil if the model has neither file, or a vocab.json without a blank: another tokenizer's.
    /// - Throws: `FormatError` naming a field of another type.
    public init?(files: NamedFiles) throws {
        guard let vocabulary = try Self.characters(files) ?? Self.pieces(files) else { return nil }
        self = vocabulary
    }

    /// Reads vocab.json.
    private static func characters(_ files: NamedFiles) throws -> CTCVocabulary? {
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
        return CTCVocabulary(
            texts: Dictionary(numbers.map { ($1, $0) }) { first, second in min(first, second) }, blank: blank,
            delimiter: try number("word_delimiter_token", usual: "|"), wordMark: nil,
            silent: Set(
                try [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")]
                    .compactMap { try number($0.0, usual: $0.1) }),
            isLowercase: try settings["do_lower_case"].exists ? settings["do_lower_case"].bool() : false)
    }

    /// Reads tokenizer.json.
    private static func pieces(_ files: NamedFiles) throws -> CTCVocabulary? {
        guard try files.has("tokenizer.json"), let tokenizer = try Tokenizer(files: files) else { return nil }
        let configuration = try files.document("config.json")
        let type = configuration["model_type"]
        let isTransducer = try type.exists && ["parakeet_tdt", "parakeet_rnnt"].contains(type.string())
        let blank = configuration[isTransducer ? "blank_token_id" : "pad_token_id"]
        let texts = (0..<tokenizer.vocabularySize).compactMap { number in
            tokenizer.token(TokenID(number)).map { (number, $0) }
        }
        return CTCVocabulary(
            texts: Dictionary(uniqueKeysWithValues: texts),
            // The defaults of the classes.
            blank: try blank.exists ? blank.int(in: 0...1 << 24) : isTransducer ? 8192 : 1024,
            delimiter: nil, wordMark: "\u{2581}", silent: Set(tokenizer.specialTokens.map { Int($0.id) }),
            isLowercase: false)
    }

    /// Returns the text of a token as it is written, without the sign of a word's start.
    public func text(of token: Int) -> String {
        guard token != blank, token != delimiter, !silent.contains(token), let text = texts[token] else { return "" }
        guard let wordMark else { return isLowercase ? text.lowercased() : text }
        let piece = text.hasPrefix(wordMark) ? text.dropFirst(wordMark.count) : text[...]
        let mark = wordMark.unicodeScalars.first
        return String(String.UnicodeScalarView(piece.unicodeScalars.map { $0 == mark ? " " : $0 }))
    }

    /// Returns whether a token has the sign of a word's start.
    public func beginsWord(_ token: Int) -> Bool {
        guard let wordMark, token != blank, !silent.contains(token), let text = texts[token] else { return false }
        return text.hasPrefix(wordMark)
    }
}
