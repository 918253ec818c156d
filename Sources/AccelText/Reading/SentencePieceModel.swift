import AccelByteIO

/// A model of sentencepiece (`sentencepiece_model.proto`): words with scores and kinds, and how text is normalized.
struct SentencePieceModel {
    /// The kinds of words by their numbers.
    enum Kind: Int64 {
        case normal = 1, unknown, control, userDefined, unused, byte
    }

    struct Word {
        var text: [UInt8]
        var score: Float
        var kind: Kind
    }

    enum Algorithm: Int64 {
        case unigram = 1, bpe, word, character
    }

    var words: [Word] = []
    var algorithm = Algorithm.unigram
    var fallsBackToBytes = false
    var characterMap: CharacterMap?
    var addsPrefix = true
    var removesExtraSpaces = true
    var escapesSpaces = true
    var file: String
    /// Tokens that `encode` adds before and after a text.
    var before: [TokenID] = []
    var after: [TokenID] = []

    init(file: String) { self.file = file }

    init(_ bytes: ByteView, file: String) throws {
        self.file = file
        try Vocabulary.checkSize(bytes.count, file: file)
        var reader = ProtobufReader(bytes, file: file)
        try reader.forEach { field in
            switch field.number {
            case 1: words.append(try Self.word(field))
            case 2: try readTraining(field)
            case 3: try readNormalization(field)
            default: break
            }
        }
        guard !words.isEmpty, words.count < Int(TokenID.max) else {
            throw FormatError(file: file, reason: "is not a model of sentencepiece: it has no words")
        }
    }

    private static func word(_ field: ProtobufReader.Field) throws -> Word {
        var word = Word(text: [], score: 0, kind: .normal)
        var reader = try field.message()
        try reader.forEach { part in
            switch part.number {
            case 1: word.text = Array(try part.string().utf8)
            case 2: word.score = try part.floats().last ?? 0
            case 3:
                guard let kind = Kind(rawValue: try part.integer()) else { throw part.error("is not a kind of word") }
                word.kind = kind
            default: break
            }
        }
        guard word.score.isFinite else { throw field.error("a word's score is no number") }
        return word
    }

    private mutating func readTraining(_ field: ProtobufReader.Field) throws {
        var reader = try field.message()
        try reader.forEach { part in
            switch part.number {
            case 3:
                guard let known = Algorithm(rawValue: try part.integer()) else {
                    throw part.error("is not a kind of model")
                }
                algorithm = known
            case 24: if try part.integer() != 0 { throw part.error("white space as a suffix is not supported") }
            case 35: fallsBackToBytes = try part.integer() != 0
            default: break
            }
        }
    }

    private mutating func readNormalization(_ field: ProtobufReader.Field) throws {
        var reader = try field.message()
        try reader.forEach { part in
            switch part.number {
            case 2:
                let bytes = try part.bytes().withBytes { Array($0) }
                let place = JSONField(nil, file: file, path: "normalizer_spec.precompiled_charsmap")
                if !bytes.isEmpty { characterMap = try CharacterMap(bytes, place) }
            case 3: addsPrefix = try part.integer() != 0
            case 4: removesExtraSpaces = try part.integer() != 0
            case 5: escapesSpaces = try part.integer() != 0
            default: break
            }
        }
    }

    // MARK: - The tokenizer

    func pipeline() throws -> Pipeline {
        var vocabulary = Vocabulary(expecting: words.count)
        for (index, word) in words.enumerated() {
            word.text.withUnsafeBufferPointer { vocabulary.add($0, TokenID(index)) }
        }
        let userDefined = words.filter { $0.kind == .userDefined }.map(\.text)
        let normalizer = SentencePieceNormalizer(
            map: characterMap, addsPrefix: addsPrefix, removesExtraSpaces: removesExtraSpaces,
            escapesSpaces: escapesSpaces,
            kept: userDefined.isEmpty ? nil : PhraseMatcher(userDefined))
        var added: [AddedToken] = []
        for (index, word) in words.enumerated() where word.kind == .control || word.kind == .unknown {
            added.append(
                AddedToken(
                    id: TokenID(index), content: String(decoding: word.text, as: UTF8.self), isNormalized: false,
                    isSpecial: true))
        }
        let model = try model(vocabulary)
        var found: [AddedToken] = []
        if case .bpe = model {
            found = words.indices.filter { words[$0].kind == .userDefined }.map {
                AddedToken(id: TokenID($0), content: String(decoding: words[$0].text, as: UTF8.self))
            }
        }
        return Pipeline(
            addedTokens: AddedTokens(
                listed: added, found: found,
                unknown: words.firstIndex { $0.kind == .unknown }.map { TokenID($0) } ?? -1,
                " \u{2047} "), normalizer: .sentencePiece(normalizer),
            preTokenizer: nil, model: model, postProcessor: postProcessor,
            decoder: .sentencePiece(dropsFirst: addsPrefix || removesExtraSpaces), file: file)
    }

    private var postProcessor: PostProcessor? {
        guard !before.isEmpty || !after.isEmpty else { return nil }
        let first: [Template.Part] = [.tokens(before, type: 0), .text(0, type: 0), .tokens(after, type: 0)]
        let second: [Template.Part] = [.tokens(before, type: 1), .text(1, type: 1), .tokens(after, type: 1)]
        return .template(Template(single: first, pair: first + second))
    }

    private func model(_ vocabulary: Vocabulary) throws -> Model {
        switch algorithm {
        case .unigram: return .unigram(unigram(vocabulary))
        case .bpe: return .bpe(BPEModel(vocabulary, MergeTable(impliedMerges(vocabulary)), options))
        case .character: return .bpe(BPEModel(vocabulary, MergeTable(), options))
        case .word: throw FormatError(file: file, reason: "models of whole words are not supported")
        }
    }

    private var options: BPEModel.Options {
        var options = BPEModel.Options()
        options.unknownToken = words.first { $0.kind == .unknown }.map { String(decoding: $0.text, as: UTF8.self) }
        options.fusesUnknown = true
        options.fallsBackToBytes = fallsBackToBytes
        return options
    }

    private func unigram(_ vocabulary: Vocabulary) -> UnigramModel {
        var pool: [UInt8] = []
        var usable: [(range: Range<Int>, value: TokenID)] = []
        for (index, word) in words.enumerated() where word.kind == .normal || word.kind == .userDefined {
            let start = pool.count
            pool += word.text
            usable.append((start..<pool.count, TokenID(index)))
        }
        let normal = words.filter { $0.kind == .normal }.map(\.score)
        let range = Double(normal.min() ?? 0)...max(Double(normal.max() ?? 0), Double(Float.leastNormalMagnitude))
        let userDefined = words.indices.filter { words[$0].kind == .userDefined }.map { TokenID($0) }
        return UnigramModel(
            vocabulary, scores: words.map { Double($0.score) },
            unknown: words.firstIndex { $0.kind == .unknown }.map { TokenID($0) } ?? -1,
            fallsBackToBytes: fallsBackToBytes,
            usable: PrefixTrie(usable.map { PrefixTrie.Word($0.range, value: $0.value, in: pool) }, in: pool),
            isSingle: true, userDefined: Set(userDefined), scoreRange: range)
    }

    /// The merges that scores imply: two words that make a third, the one with the best score first.
    func impliedMerges(_ vocabulary: Vocabulary) -> [Merge] {
        let usable = words.indices.filter { words[$0].kind == .normal || words[$0].kind == .userDefined }
        var ranks: [UInt32: Int] = [:]
        for score in Set(usable.map { words[$0].score }).sorted(by: >) { ranks[score.bitPattern] = ranks.count }
        // Any words can be parts: those that are no words of the text do not come up.
        var merges: [Merge] = []
        for index in usable {
            let text = words[index].text
            text.withUnsafeBufferPointer { text in
                for cut in 1..<max(text.count, 1) where !UTF8Text.continues(text[cut]) {
                    let left = vocabulary.find(UnsafeBufferPointer(rebasing: text[..<cut]))
                    guard left >= 0 else { continue }
                    let right = vocabulary.find(UnsafeBufferPointer(rebasing: text[cut...]))
                    guard right >= 0 else { continue }
                    merges.append(
                        Merge(left, right, rank: ranks[words[index].score.bitPattern] ?? 0, TokenID(index)))
                }
            }
        }
        return merges
    }
}
