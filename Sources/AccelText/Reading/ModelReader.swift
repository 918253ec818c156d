import AccelByteIO

/// Reads the model of a tokenizer.json. Its lists of words are read in place, at the first sight of them; the rest becomes JSON values.
struct ModelReader {
    private let bytes: ByteView
    private let file: String
    /// Where the members of the model lie.
    private var members: [String: Range<Int>] = [:]
    private var words: Words?
    /// The merges, if they could be read at the first sight.
    private var merges: MergeTable?

    private enum Words {
        case numbered(Vocabulary)
        case scored(Vocabulary, [Double])
    }

    /// - Parameter cursor: at the start of the model, in `bytes`.
    init(_ cursor: inout JSONCursor, _ bytes: ByteView, file: String) throws {
        self.bytes = bytes
        self.file = file
        var (words, merges): (Words?, MergeTable?)
        members = try cursor.members { name, known, cursor in
            switch (name, try cursor.peek()) {
            case ("vocab", UInt8(ascii: "{")):
                words = .numbered(try Self.vocabulary(&cursor, byteCount: bytes.count))
            case ("vocab", UInt8(ascii: "[")): words = try Self.scoredWords(&cursor, byteCount: bytes.count)
            case ("merges", UInt8(ascii: "[")):
                // The usual order is: the prefix, the words, and then the merges.
                guard case .numbered(let vocabulary)? = words, let range = known["continuing_subword_prefix"] else {
                    return false
                }
                let prefix = try Self.prefix(Self.field("continuing_subword_prefix", range, bytes, file))
                merges = try Self.merges(&cursor, vocabulary, prefix)
            default: return false
            }
            return true
        }
        (self.words, self.merges) = (words, merges)
    }

    /// Reads an object of words and numbers.
    static func vocabulary(_ cursor: inout JSONCursor, byteCount: Int) throws -> Vocabulary {
        var vocabulary = Vocabulary(expecting: byteCount / bytesPerWord)
        try cursor.list("{", "}") { cursor in
            let entry = try cursor.string { vocabulary.entry(adding: $0) }
            try cursor.expect(":")
            vocabulary.setID(of: entry, try cursor.tokenID())
        }
        return vocabulary
    }

    /// Most documents have fewer bytes for each word, with all that belongs to it: a list grows once or twice.
    private static let bytesPerWord = 128

    private static func scoredWords(_ cursor: inout JSONCursor, byteCount: Int) throws -> Words {
        var vocabulary = Vocabulary(expecting: byteCount / bytesPerWord)
        var scores: [Double] = []
        scores.reserveCapacity(byteCount / bytesPerWord)
        try cursor.list("[", "]") { cursor in
            try cursor.expect("[")
            guard scores.count < Int(TokenID.max) else { throw cursor.error("too many words") }
            try cursor.string { vocabulary.add($0, TokenID(scores.count)) }
            try cursor.expect(",")
            scores.append(try cursor.number())
            try cursor.expect("]")
        }
        return .scored(vocabulary, scores)
    }

    private static func merges(
        _ cursor: inout JSONCursor, _ vocabulary: Vocabulary, _ prefix: [UInt8]
    ) throws -> MergeTable {
        var reader = MergeReader(vocabulary, prefixLength: prefix.count)
        try cursor.list("[", "]") { cursor in
            let start = cursor.position
            let problem: String?
            if try cursor.skip("[") {
                try cursor.string { reader.setLeft($0) }
                try cursor.expect(",")
                problem = try cursor.string { reader.addRight($0) }
                try cursor.expect("]")
            } else {
                problem = try cursor.string { reader.add(line: $0) }
            }
            if let problem { throw cursor.error(problem, at: start) }
        }
        return MergeTable(reader.merges)
    }

    private static func prefix(_ field: JSONField) throws -> [UInt8] {
        field.exists ? Array(try field.string().utf8) : []
    }

    // MARK: - Members

    private static func field(_ name: String, _ range: Range<Int>?, _ bytes: ByteView, _ file: String) throws
        -> JSONField
    {
        let value = try range.map { try JSON.parse(bytes[$0], file: file, origin: $0.lowerBound) }
        return JSONField(value, file: file, path: "model.\(name)")
    }

    /// The value of a member; missing if there is none.
    private func field(_ name: String) throws -> JSONField { try Self.field(name, members[name], bytes, file) }

    private func flag(_ name: String) throws -> Bool {
        let field = try field(name)
        return try field.exists && field.bool()
    }

    private func error(_ name: String, _ reason: String) -> FormatError {
        FormatError(file: file, location: .field("model.\(name)"), reason: reason)
    }

    private func numberedWords() throws -> Vocabulary {
        guard case .numbered(let vocabulary)? = words else {
            throw error("vocab", members["vocab"] == nil ? "expected a value, found nothing" : "expected an object")
        }
        return vocabulary
    }

    /// Old files do not name the type of the model.
    private var impliedType: String {
        if members["merges"] != nil { return "BPE" }
        if members["continuing_subword_prefix"] != nil { return "WordPiece" }
        return members["unk_id"] != nil ? "Unigram" : "WordLevel"
    }

    // MARK: - Models

    func model() throws -> Model {
        let type = try field("type")
        switch try type.exists ? type.string() : impliedType {
        case "BPE": return try bpe()
        case "WordPiece": return try wordPiece()
        case "WordLevel": return .wordLevel(try numberedWords(), unknownToken: try field("unk_token").string())
        case "Unigram": return try unigram()
        case let name: throw type.error("the model \(quoted(name)) is not supported")
        }
    }

    private func bpe() throws -> Model {
        var options = BPEModel.Options()
        let unknown = try field("unk_token")
        if unknown.exists { options.unknownToken = try unknown.string() }
        options.continuingPrefix = try Self.prefix(field("continuing_subword_prefix"))
        options.endSuffix = try Self.prefix(field("end_of_word_suffix"))
        options.fusesUnknown = try flag("fuse_unk")
        options.fallsBackToBytes = try flag("byte_fallback")
        options.ignoresMerges = try flag("ignore_merges")
        let vocabulary = try numberedWords()
        return .bpe(BPEModel(vocabulary, try merges ?? laterMerges(vocabulary, options.continuingPrefix), options))
    }

    /// Reads the merges of a model whose members have another order than the usual one.
    private func laterMerges(_ vocabulary: Vocabulary, _ prefix: [UInt8]) throws -> MergeTable {
        guard let range = members["merges"] else { throw error("merges", "expected a value, found nothing") }
        return try bytes[range].withBytes { part in
            var cursor = JSONCursor(part, file: file, origin: range.lowerBound)
            let merges = try Self.merges(&cursor, vocabulary, prefix)
            try cursor.finish()
            return merges
        }
    }

    private func wordPiece() throws -> Model {
        let unknown = try field("unk_token").string()
        let prefix = try field("continuing_subword_prefix").string()
        let longest = try field("max_input_chars_per_word").int(in: 0...Int(Int32.max))
        return .wordPiece(
            WordPieceModel(
                try numberedWords(), unknownToken: unknown, continuingPrefix: Array(prefix.utf8), longestWord: longest))
    }

    private func unigram() throws -> Model {
        guard case .scored(let vocabulary, let scores)? = words else {
            throw error("vocab", members["vocab"] == nil ? "expected a value, found nothing" : "expected an array")
        }
        let field = try field("unk_id")
        let unknown = field.exists ? try field.int(in: 0...Int(TokenID.max)) : -1
        if unknown >= scores.count { throw field.error("\(unknown) is not in the vocabulary of \(scores.count) words") }
        return .unigram(
            UnigramModel(
                vocabulary, scores: scores, unknown: TokenID(unknown), fallsBackToBytes: try flag("byte_fallback")))
    }
}
