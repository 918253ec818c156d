import AccelByteIO

/// Reads a tokenizer.json. Its lists of words are read in place; the rest becomes JSON values.
struct TokenizerDocument {
    private let bytes: ByteView
    private let file: String
    /// Where the members of the document lie.
    private var members: [String: Range<Int>] = [:]
    private var modelMembers: [String: Range<Int>] = [:]

    static func pipeline(_ bytes: ByteView, file: String) throws -> Pipeline {
        try TokenizerDocument(bytes, file: file).pipeline()
    }

    private init(_ bytes: ByteView, file: String) throws {
        self.bytes = bytes
        self.file = file
        (members, modelMembers) = try bytes.withBytes { part in
            var cursor = JSONCursor(part, file: file, origin: 0)
            var model: [String: Range<Int>]?
            let members = try Self.members(&cursor) { name, cursor in
                guard name == "model", try cursor.peek() == UInt8(ascii: "{") else { return nil }
                let start = cursor.position
                model = try Self.members(&cursor) { _, _ in nil }
                return start..<cursor.position
            }
            try cursor.finish()
            guard let model else {
                throw FormatError(file: file, location: .field("model"), reason: "the tokenizer has no model")
            }
            return (members, model)
        }
    }

    /// Reads an object. Returns where its values lie; `body` may read a value, and returns its range then.
    private static func members(
        _ cursor: inout JSONCursor, _ body: (String, inout JSONCursor) throws -> Range<Int>?
    ) throws -> [String: Range<Int>] {
        var members: [String: Range<Int>] = [:]
        try cursor.list("{", "}") { cursor in
            let start = cursor.position
            let key = try cursor.string { String(decoding: $0, as: UTF8.self) }
            try cursor.expect(":")
            guard members[key] == nil else {
                throw cursor.error("the name \(quoted(key)) occurs twice in one object", at: start)
            }
            members[key] = try body(key, &cursor) ?? cursor.skipValue()
        }
        return members
    }

    /// The value of a member of the document; missing if there is none.
    private func field(_ name: String) throws -> JSONField { try field(name, members[name], name) }

    private func modelField(_ name: String) throws -> JSONField {
        try field(name, modelMembers[name], "model.\(name)")
    }

    private func field(_ name: String, _ range: Range<Int>?, _ path: String) throws -> JSONField {
        let value = try range.map { try JSON.parse(bytes[$0], file: file, origin: $0.lowerBound) }
        return JSONField(value, file: file, path: path)
    }

    private func pipeline() throws -> Pipeline {
        let version = try field("version")
        if version.exists, try version.string() != "1.0" { throw version.error("the version is not supported") }
        // Not applied, but they have to be JSON.
        _ = try (field("truncation"), field("padding"))
        let components = ComponentReader()
        let normalizer = try components.normalizer(try field("normalizer"))
        let preTokenizer = try components.preTokenizer(try field("pre_tokenizer"))
        let postProcessor = try components.postProcessor(try field("post_processor"))
        let decoder = try components.decoder(try field("decoder"))
        let model = try model()
        let added = try AddedTokenReader.tokens(try field("added_tokens"), model.vocabulary)
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: normalizer), normalizer: normalizer, preTokenizer: preTokenizer,
            model: model, postProcessor: postProcessor, decoder: decoder, file: file)
    }

    // MARK: - Models

    private func model() throws -> Model {
        let type = try modelField("type")
        switch try type.exists ? type.string() : impliedType() {
        case "BPE": return try bpe()
        case "WordPiece": return try wordPiece()
        case "WordLevel": return .wordLevel(try vocabulary(), unknownToken: try modelField("unk_token").string())
        case "Unigram": return try unigram()
        case let name: throw type.error("the model \(quoted(name)) is not supported")
        }
    }

    /// Old files do not name the type of the model.
    private func impliedType() -> String {
        if modelMembers["merges"] != nil { return "BPE" }
        if modelMembers["continuing_subword_prefix"] != nil { return "WordPiece" }
        return modelMembers["unk_id"] != nil ? "Unigram" : "WordLevel"
    }

    /// Calls `body` with a cursor at a member of the model.
    private func withMember<Result>(_ name: String, _ body: (inout JSONCursor) throws -> Result) throws -> Result {
        guard let range = modelMembers[name] else {
            throw FormatError(file: file, location: .field("model.\(name)"), reason: "expected a value, found nothing")
        }
        return try bytes[range].withBytes { part in
            var cursor = JSONCursor(part, file: file, origin: range.lowerBound)
            let result = try body(&cursor)
            try cursor.finish()
            return result
        }
    }

    /// About as many entries as there are in a list of this size.
    private func expectedCount(_ name: String) -> Int { (modelMembers[name]?.count ?? 0) / 24 }

    private func vocabulary() throws -> Vocabulary {
        var vocabulary = Vocabulary(expecting: expectedCount("vocab"), byteCount: modelMembers["vocab"]?.count ?? 0)
        try withMember("vocab") { cursor in
            try cursor.list("{", "}") { cursor in
                let entry = try cursor.string { vocabulary.entry(adding: $0) }
                try cursor.expect(":")
                vocabulary.setID(of: entry, try cursor.tokenID())
            }
        }
        return vocabulary
    }

    private func bpe() throws -> Model {
        var options = BPEModel.Options()
        let unknown = try modelField("unk_token")
        if unknown.exists { options.unknownToken = try unknown.string() }
        let prefix = try modelField("continuing_subword_prefix")
        if prefix.exists { options.continuingPrefix = Array(try prefix.string().utf8) }
        let suffix = try modelField("end_of_word_suffix")
        if suffix.exists { options.endSuffix = Array(try suffix.string().utf8) }
        func flag(_ name: String) throws -> Bool {
            let field = try modelField(name)
            return try field.exists && field.bool()
        }
        options.fusesUnknown = try flag("fuse_unk")
        options.fallsBackToBytes = try flag("byte_fallback")
        options.ignoresMerges = try flag("ignore_merges")
        let vocabulary = try vocabulary()
        var reader = MergeReader(
            vocabulary, prefixLength: options.continuingPrefix.count, expecting: expectedCount("merges"))
        try withMember("merges") { cursor in
            try cursor.list("[", "]") { cursor in
                let start = cursor.position
                let problem: String?
                if try cursor.peek() == UInt8(ascii: "[") {
                    try cursor.expect("[")
                    try cursor.string { reader.setLeft($0) }
                    try cursor.expect(",")
                    problem = try cursor.string { reader.addRight($0) }
                    try cursor.expect("]")
                } else {
                    problem = try cursor.string { reader.add(line: $0) }
                }
                if let problem { throw cursor.error(problem, at: start) }
            }
        }
        return .bpe(BPEModel(vocabulary, reader.merges, options))
    }

    private func wordPiece() throws -> Model {
        let unknown = try modelField("unk_token").string()
        let prefix = try modelField("continuing_subword_prefix").string()
        let longest = try modelField("max_input_chars_per_word").int(in: 0...Int(Int32.max))
        return .wordPiece(
            WordPieceModel(
                try vocabulary(), unknownToken: unknown, continuingPrefix: Array(prefix.utf8), longestWord: longest))
    }

    private func unigram() throws -> Model {
        var vocabulary = Vocabulary(expecting: expectedCount("vocab"), byteCount: modelMembers["vocab"]?.count ?? 0)
        var scores: [Double] = []
        try withMember("vocab") { cursor in
            try cursor.list("[", "]") { cursor in
                try cursor.expect("[")
                guard scores.count < Int(TokenID.max) else { throw cursor.error("too many words") }
                try cursor.string { vocabulary.add($0, TokenID(scores.count)) }
                try cursor.expect(",")
                scores.append(try cursor.number())
                try cursor.expect("]")
            }
        }
        let field = try modelField("unk_id")
        let unknown = field.exists ? try field.int(in: 0...Int(TokenID.max)) : -1
        if unknown >= scores.count { throw field.error("\(unknown) is not in the vocabulary of \(scores.count) words") }
        let fallback = try modelField("byte_fallback")
        return .unigram(
            UnigramModel(
                vocabulary, scores: scores, unknown: TokenID(unknown),
                fallsBackToBytes: fallback.exists ? try fallback.bool() : false))
    }
}
