import AccelByteIO

/// The metadata of a GGUF file about its tokenizer (`tokenizer.ggml.*`).
///
///     var vocabulary = GGUFVocabulary(model: "gpt2", tokens: words, file: path)
///     vocabulary.pre = "smollm"
///     vocabulary.merges = merges
///     let tokenizer = try Tokenizer(gguf: vocabulary)
public struct GGUFVocabulary: Sendable {
    /// The kind of model: `gpt2`, `llama`, `bert`, `t5`, or `gemma4`.
    public var model: String
    /// The name of the rule that splits text; only for `gpt2`.
    public var pre = "default"
    /// The texts of the tokens; a token's number is its index.
    public var tokens: [String]
    /// The scores of the tokens; needed for `llama` and `t5`.
    public var scores: [Float] = []
    /// The kinds of the tokens: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. Empty: all are normal.
    public var types: [Int32] = []
    /// The merges, such as `t h`, the first ones first.
    public var merges: [String] = []
    /// The token before a text (for `bert`: the classifier's).
    public var startToken: TokenID?
    /// The token after a text.
    public var endToken: TokenID?
    /// The token for what is not in the vocabulary.
    public var unknownToken: TokenID?
    /// The token between texts.
    public var separatorToken: TokenID?
    /// `add_bos_token`; nil: as the model usually does.
    public var addsStart: Bool?
    /// `add_eos_token`; nil: as the model usually does.
    public var addsEnd: Bool?
    /// `add_space_prefix`; nil: as the model usually does.
    public var addsSpacePrefix: Bool?
    /// `remove_extra_whitespaces`; nil: as the model usually does.
    public var removesExtraSpaces: Bool?
    /// `precompiled_charsmap`, for `t5`.
    public var characterMap: [UInt8] = []
    /// `bert` models with upper case say false (`tokenizer.ggml.normalizer.lowercase`).
    public var lowercases: Bool?
    /// The file, for errors.
    public var file: String

    /// Creates a vocabulary without merges, scores and kinds.
    public init(model: String, tokens: [String], file: String) {
        self.model = model
        self.tokens = tokens
        self.file = file
    }

    /// `▁`.
    private var startOfWord: [UInt8] { [0xE2, 0x96, 0x81] }

    private enum Kind: Int32 { case normal = 1, unknown, control, userDefined, unused, byte }

    private func kind(_ index: Int) -> Kind { types.isEmpty ? .normal : Kind(rawValue: types[index]) ?? .normal }

    private func error(_ key: String, _ reason: String) -> FormatError {
        FormatError(file: file, location: .field("tokenizer.ggml.\(key)"), reason: reason)
    }

    func pipeline() throws -> Pipeline {
        guard !tokens.isEmpty, tokens.count < Int(TokenID.max) else {
            throw error("tokens", "the list has \(tokens.count) tokens")
        }
        try Vocabulary.checkSize(tokens.reduce(0) { $0 + $1.utf8.count }, file: file)
        guard types.isEmpty || types.count == tokens.count else {
            throw error("token_type", "\(types.count) kinds for \(tokens.count) tokens")
        }
        for (key, id) in [
            ("bos_token_id", startToken), ("eos_token_id", endToken), ("unknown_token_id", unknownToken),
            ("seperator_token_id", separatorToken),
        ] {
            guard let id else { continue }
            guard id >= 0, Int(id) < tokens.count else { throw error(key, "\(id) is not a token's number") }
        }
        switch model {
        case "gpt2", "gemma4": return try bytePair()
        case "llama", "t5": return try sentencePiece()
        case "bert": return try wordPiece()
        default: throw error("model", "the tokenizer \(quoted(model)) is not supported")
        }
    }

    var vocabulary: Vocabulary {
        var vocabulary = Vocabulary(expecting: tokens.count)
        for (index, token) in tokens.enumerated() { vocabulary.add(token, TokenID(index)) }
        return vocabulary
    }

    /// Control tokens, which are special, and user-defined ones.
    var added: [AddedToken] {
        tokens.indices.compactMap { index in
            let kind = kind(index)
            guard kind == .control || kind == .userDefined || kind == .unknown, !tokens[index].isEmpty else {
                return nil
            }
            return AddedToken(
                id: TokenID(index), content: tokens[index], isNormalized: false, isSpecial: kind != .userDefined)
        }
    }

    private func around(start: Bool, end: Bool) throws -> PostProcessor? {
        var (before, after): ([TokenID], [TokenID]) = ([], [])
        if addsStart ?? start {
            guard let startToken else { throw error("bos_token_id", "the file adds this token, but has none") }
            before = [startToken]
        }
        if addsEnd ?? end {
            guard let endToken else { throw error("eos_token_id", "the file adds this token, but has none") }
            after = [endToken]
        }
        guard !before.isEmpty || !after.isEmpty else { return nil }
        let first: [Template.Part] = [.tokens(before, type: 0), .text(0, type: 0), .tokens(after, type: 0)]
        let second: [Template.Part] = [.tokens(before, type: 1), .text(1, type: 1), .tokens(after, type: 1)]
        return .template(Template(single: first, pair: first + second))
    }

    // MARK: - Byte pairs

    private func bytePair() throws -> Pipeline {
        let name = model == "gemma4" ? "gemma4" : pre
        guard let rule = SplitExpressions.rule(name) else {
            throw error(
                "pre", "the rule \(quoted(pre)) is not known\(suggestion(for: pre, among: SplitExpressions.names))")
        }
        let vocabulary = vocabulary
        var reader = MergeReader(vocabulary, prefixLength: 0)
        for (index, merge) in merges.enumerated() {
            let bytes = Array(merge.utf8)
            // The first token is never empty, so that it may be a space.
            guard let space = bytes.dropFirst().firstIndex(of: 0x20) else {
                throw error("merges[\(index)]", "a merge needs two tokens with a space between them")
            }
            bytes.withUnsafeBufferPointer { reader.setLeft(UnsafeBufferPointer(rebasing: $0[..<space])) }
            let problem = bytes.withUnsafeBufferPointer {
                reader.addRight(UnsafeBufferPointer(rebasing: $0[(space + 1)...]))
            }
            if let problem { throw error("merges[\(index)]", problem) }
        }
        let field = JSONField(nil, file: file, path: "tokenizer.ggml.pre")
        let splits: [PreTokenizer] = try rule.expressions.map {
            .split(try Pattern(expression: $0, field), .isolated, inverted: false)
        }
        var options = BPEModel.Options()
        options.ignoresMerges = rule.ignoresMerges
        options.ignoresMergesOfNewlines = rule.ignoresMergesOfNewlines
        if !rule.isByteLevel {
            options.fallsBackToBytes = true
            options.fusesUnknown = true
            options.unknownToken = unknownToken.map { tokens[Int($0)] }
        }
        var normalizers: [Normalizer] = []
        if !rule.isByteLevel {
            if addsSpacePrefix ?? false { normalizers.append(.prepend([0x20])) }
            normalizers.append(.replace(Pattern(text: " "), with: startOfWord.scalars))
        } else if rule.composes {
            normalizers.append(.form(.canonicalComposition))
        }
        let prefix = rule.isByteLevel && (addsSpacePrefix ?? false)
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: nil),
            normalizer: normalizers.isEmpty ? nil : .sequence(normalizers),
            preTokenizer: .sequence(
                splits + (rule.isByteLevel ? [.byteLevel(addsPrefixSpace: prefix, words: nil)] : [])),
            model: .bpe(BPEModel(vocabulary, MergeTable(reader.merges), options)),
            postProcessor: try around(start: rule.addsStart && startToken != nil, end: false),
            decoder: rule.isByteLevel
                ? .byteLevel : .sequence([.replace(Pattern(text: "\u{2581}"), with: [0x20]), .byteFallback, .fuse]),
            file: file)
    }

    // MARK: - Sentencepiece

    private func sentencePiece() throws -> Pipeline {
        var pipeline = try pieces().pipeline()
        pipeline.addedTokens = AddedTokens(added, normalizer: nil)
        pipeline.postProcessor = try around(
            start: model == "llama" && startToken != nil, end: model == "t5" && endToken != nil)
        return pipeline
    }

    /// The words with their scores, as a model of sentencepiece.
    func pieces() throws -> SentencePieceModel {
        guard scores.count == tokens.count else {
            throw error("scores", "\(scores.count) scores for \(tokens.count) tokens")
        }
        if let index = scores.firstIndex(where: { !$0.isFinite }) {
            throw error("scores[\(index)]", "is no number")
        }
        var sentencePiece = SentencePieceModel(file: file)
        sentencePiece.words = tokens.indices.map { index in
            var kind = SentencePieceModel.Kind(rawValue: Int64(self.kind(index).rawValue)) ?? .normal
            if unknownToken == TokenID(index) { kind = .unknown }
            return .init(text: Array(tokens[index].utf8), score: scores[index], kind: kind)
        }
        sentencePiece.algorithm = model == "t5" ? .unigram : .bpe
        sentencePiece.fallsBackToBytes = tokens.contains("<0x00>")
        sentencePiece.addsPrefix = addsSpacePrefix ?? true
        sentencePiece.removesExtraSpaces = removesExtraSpaces ?? (model == "t5")
        if !characterMap.isEmpty {
            let field = JSONField(nil, file: file, path: "tokenizer.ggml.precompiled_charsmap")
            sentencePiece.characterMap = try CharacterMap(characterMap, field)
        }
        return sentencePiece
    }

    // MARK: - BERT

    /// The words of BERT are stored with `▁` at the start of a word, and without `##` within one; special ones without both.
    private func wordPiece() throws -> Pipeline {
        var vocabulary = Vocabulary(expecting: tokens.count)
        for index in tokens.indices {
            // As bytes: a mark at the start of a string forms one character with the sign before it.
            let token = Array(tokens[index].utf8)
            let isInBrackets = types.isEmpty && token.first == UInt8(ascii: "[") && token.last == UInt8(ascii: "]")
            var word = token
            if token.starts(with: startOfWord) {
                word.removeFirst(startOfWord.count)
            } else if kind(index) == .normal, !isInBrackets {
                word = Array("##".utf8) + token
            }
            word.withUnsafeBufferPointer { vocabulary.add($0, TokenID(index)) }
        }
        let unknown = unknownToken.flatMap { vocabulary.token($0) } ?? "[UNK]"
        let lowercases = lowercases ?? true
        guard let first = startToken, let last = separatorToken ?? endToken else {
            throw error("bos_token_id", "the tokenizer needs tokens for the start and the end")
        }
        let added = tokens.indices.filter { kind($0) == .control || kind($0) == .unknown }.map { index in
            AddedToken(
                id: TokenID(index), content: vocabulary.token(TokenID(index)) ?? tokens[index], isNormalized: false,
                isSpecial: true)
        }
        let single: [Template.Part] = [.tokens([first], type: 0), .text(0, type: 0), .tokens([last], type: 0)]
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: nil),
            normalizer: .bert(
                BertNormalizer(
                    cleansText: true, separatesIdeographs: true, stripsAccents: lowercases, lowercases: lowercases)),
            preTokenizer: .bert,
            model: .wordPiece(
                WordPieceModel(
                    vocabulary, unknownToken: unknown, continuingPrefix: Array("##".utf8), longestWord: 100)),
            postProcessor: .template(
                Template(single: single, pair: single + [.text(1, type: 1), .tokens([last], type: 1)])),
            decoder: .wordPiece(prefix: Array("##".utf8), cleansUp: true), file: file)
    }
}
