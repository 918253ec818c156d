public import AccelByteIO

/// A tokenizer of a language model: text to tokens and back.
///
///     let tokenizer = try Tokenizer(folder: "model")
///     let ids = try tokenizer.encode("Hello world")
///     let text = tokenizer.decode(ids)
///
/// Tokens are those that the PyPI package `tokenizers` gives for the same file. It may be used by several threads at once.
public struct Tokenizer: Sendable {
    let pipeline: Pipeline
    private let works = WorkPool()

    init(_ pipeline: Pipeline) { self.pipeline = pipeline }

    /// Reads the tokenizer of a model's folder; `init(files:)` says how.
    /// - Throws: `FormatError` if a file is corrupt or has a part that is not supported; `RequestError` if there is no such file.
    public init(folder: String) throws {
        guard let pipeline = try TokenizerFolder(NamedFiles(folder: folder)).pipeline() else {
            throw RequestError(
                "\(folder) has no tokenizer: no tokenizer.json, tokenizer.model, vocab.json with merges.txt, or vocab.txt",
                status: .unavailable)
        }
        self.init(pipeline)
    }

    /// Returns whether a file of this name is a tokenizer's, or a part of one.
    public static func isFile(_ name: String) -> Bool {
        name.hasSuffix(".model")
            || ["tokenizer.json", GGUFVocabulary.assetName, "vocab.txt", "vocab.json"].contains(name)
    }

    /// Reads the tokenizer among a model's files: tokenizer.json, else the one of a GGUF file, else tokenizer.model, else vocab.json with
    /// merges.txt, else vocab.txt.
    /// - Returns: nil if there is no such file.
    /// - Throws: `FormatError` if a file is corrupt or has a part that is not supported.
    public init?(files: NamedFiles) throws {
        guard let pipeline = try TokenizerFolder(files).pipeline() else { return nil }
        self.init(pipeline)
    }

    /// Reads the document of a tokenizer.json.
    /// - Parameter file: the path, for errors.
    public init(json: ByteView, file: String) throws {
        self.init(try TokenizerDocument.pipeline(json, file: file))
    }

    /// Reads a model file of sentencepiece, such as tokenizer.model. Tokens are those that the PyPI package `sentencepiece` gives.
    /// - Parameter file: the path, for errors.
    public init(sentencePiece: ByteView, file: String) throws {
        self.init(try SentencePieceModel(sentencePiece, file: file).pipeline())
    }

    /// Makes the tokenizer that a GGUF file's metadata describe.
    public init(gguf: GGUFVocabulary) throws {
        self.init(try gguf.pipeline())
    }

    // MARK: - Text to tokens

    /// Returns the tokens of a text.
    /// - Parameter addSpecialTokens: adds tokens such as `[CLS]` or `<s>`, as the tokenizer's post-processor says.
    /// - Throws: `RequestError` if a character is unknown, and there is no token for unknown ones.
    public func encode(_ text: String, addSpecialTokens: Bool = true) throws -> [TokenID] {
        var text = text
        return try text.withUTF8 { try process([$0], false, addSpecialTokens).ids }
    }

    /// Returns the tokens of UTF-8 bytes. U+FFFD takes the place of invalid sequences, as in Python and on the Web.
    public func encode(utf8 bytes: UnsafeBufferPointer<UInt8>, addSpecialTokens: Bool = true) throws -> [TokenID] {
        try process([bytes], false, addSpecialTokens).ids
    }

    /// Returns the tokens of a text with their offsets, in bytes of its UTF-8.
    public func encoding(of text: String, addSpecialTokens: Bool = true) throws -> Encoding {
        var text = text
        return try text.withUTF8 { try process([$0], true, addSpecialTokens) }
    }

    /// Returns the tokens of UTF-8 bytes with their offsets. U+FFFD takes the place of invalid sequences, and offsets count its three bytes.
    public func encoding(ofUTF8 bytes: UnsafeBufferPointer<UInt8>, addSpecialTokens: Bool = true) throws -> Encoding {
        try process([bytes], true, addSpecialTokens)
    }

    /// Returns the tokens of two texts, such as a question and a passage, with their offsets in their text.
    public func encodePair(_ first: String, _ second: String, addSpecialTokens: Bool = true) throws -> Encoding {
        var (first, second) = (first, second)
        return try first.withUTF8 { first in
            try second.withUTF8 { try process([first, $0], true, addSpecialTokens) }
        }
    }

    private func process(
        _ texts: [UnsafeBufferPointer<UInt8>], _ wantsOffsets: Bool, _ addsSpecialTokens: Bool
    ) throws -> Encoding {
        var work = works.take()
        defer { works.give(work) }
        var segments: [Segment] = []
        for (index, text) in texts.enumerated() {
            guard text.count <= 1 << 29 else {
                throw RequestError("a text has \(text.count) bytes; at most \(1 << 29) are encoded at once")
            }
            work.original.removeAll(keepingCapacity: true)
            UTF8Text.appendRepaired(text, to: &work.original)
            segments.append(try pipeline.segment(&work, wantsOffsets: wantsOffsets, type: Int32(index)))
        }
        if let postProcessor = pipeline.postProcessor {
            segments = postProcessor.apply(to: segments, addsSpecialTokens: addsSpecialTokens)
        }
        guard segments.count != 1 else { return segments[0].encoding }
        return segments.reduce(into: Encoding()) { $0.append($1.encoding) }
    }

    // MARK: - Tokens to text

    /// Returns the text of tokens. Numbers without token are left out.
    public func decode(_ ids: some Sequence<TokenID>, skipSpecialTokens: Bool = true) -> String {
        pipeline.decode(ids, skipsSpecialTokens: skipSpecialTokens)
    }

    /// Returns a decoder of tokens that come one after the other.
    public func streamDecoder(skipSpecialTokens: Bool = true) -> StreamDecoder {
        StreamDecoder(pipeline, skipsSpecialTokens: skipSpecialTokens)
    }

    // MARK: - Vocabulary

    /// The added tokens that are special, in the order of their numbers.
    public var specialTokens: [AddedToken] { pipeline.addedTokens.tokens.filter(\.isSpecial) }

    /// All added tokens, in the order of their numbers.
    public var addedTokens: [AddedToken] { pipeline.addedTokens.tokens }

    /// Returns the number of a token by its text in the vocabulary; nil if there is none.
    public func tokenID(of token: String) -> TokenID? {
        if let id = pipeline.addedTokens.id(of: token) { return id }
        let id = pipeline.model.vocabulary.find(token)
        return id >= 0 ? id : nil
    }

    /// Returns the text in the vocabulary of a token; nil if there is none.
    public func token(_ id: TokenID) -> String? {
        pipeline.addedTokens.token(id)?.content ?? pipeline.model.vocabulary.token(id)
    }

    /// The number of tokens, with added ones.
    public var vocabularySize: Int {
        let vocabulary = pipeline.model.vocabulary
        return vocabulary.count + pipeline.addedTokens.tokens.count { vocabulary.find($0.content) < 0 }
    }
}

/// Memory of encodings that is used again, by one encoding at a time.
final class WorkPool: Sendable {
    private let works = Locked<[EncodingWork]>([])
    /// More are not kept.
    private static let mostKept = 16
    /// Memory for longer texts is not kept.
    private static let longestKept = 1 << 20

    func take() -> EncodingWork {
        works.withLock { works in works.popLast() } ?? EncodingWork()
    }

    func give(_ work: EncodingWork) {
        guard work.original.capacity <= Self.longestKept else { return }
        works.withLock { works in
            if works.count < Self.mostKept { works.append(work) }
        }
    }
}
