import AccelByteIO

/// Reads a tokenizer.json. Its lists of words are read in place; the rest becomes JSON values.
struct TokenizerDocument {
    private let bytes: ByteView
    private let file: String
    /// Where the members of the document lie.
    private let members: [String: Range<Int>]
    private let model: ModelReader

    static func pipeline(_ bytes: ByteView, file: String) throws -> Pipeline {
        try TokenizerDocument(bytes, file: file).pipeline()
    }

    private init(_ bytes: ByteView, file: String) throws {
        try Vocabulary.checkSize(bytes.count, file: file)
        self.bytes = bytes
        self.file = file
        (members, model) = try bytes.withBytes { part in
            var cursor = JSONCursor(part, file: file, origin: 0)
            var model: ModelReader?
            let members = try cursor.members { name, _, cursor in
                guard name == "model", try cursor.peek() == UInt8(ascii: "{") else { return false }
                model = try ModelReader(&cursor, bytes, file: file)
                return true
            }
            try cursor.finish()
            guard let model else {
                throw FormatError(file: file, location: .field("model"), reason: "the tokenizer has no model")
            }
            return (members, model)
        }
    }

    /// The value of a member of the document; missing if there is none.
    private func field(_ name: String) throws -> JSONField {
        let value = try members[name].map { try JSON.parse(bytes[$0], file: file, origin: $0.lowerBound) }
        return JSONField(value, file: file, path: name)
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
        let model = try model.model()
        let added = try AddedTokenReader.tokens(try field("added_tokens"), model.vocabulary)
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: normalizer), normalizer: normalizer, preTokenizer: preTokenizer,
            model: model, postProcessor: postProcessor, decoder: decoder, file: file)
    }
}
