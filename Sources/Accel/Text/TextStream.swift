public import AccelByteIO
public import AccelFrontEnds
import AccelText

/// Text that a session generates, in pieces of whole characters. Each piece is computed when it is asked for. Stop tokens are not part of
/// the text. A second iteration goes on where the first one ended.
public struct TextStream: AsyncSequence, Sendable {
    public typealias Element = String
    let generated: GeneratedText

    /// Why and how the stream ended; nil while it goes on.
    public var summary: GenerationSummary? { generated.tokens.summary }
    /// The text so far.
    public var text: String { generated.text }
    /// The tokens of the text, and the stop tokens. A token that is asked for here is not part of the text.
    package var tokens: TokenStream { generated.tokens }

    /// Asks for one piece after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let generated: GeneratedText

        /// The next piece; nil after the last one: `summary` says why.
        /// - Throws: as `TokenStream`.
        public mutating func next() async throws(AccelError) -> String? { try await generated.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(AccelError) -> String? {
            try await generated.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(generated: generated) }
}

/// The tokens of a stream and their text so far.
final class GeneratedText: Sendable {
    let tokens: TokenStream
    private let stopTokens: Set<Int64>
    private struct Decoding {
        var decoder: StreamDecoder
        var text = ""
        var hasEnded = false

        mutating func append(_ piece: String) -> String? {
            text += piece
            return piece.isEmpty ? nil : piece
        }
    }
    private let decoding: Locked<Decoding>

    init(_ tokens: TokenStream, _ frontEnd: TextFrontEnd, until stopTokens: Set<Int64>) {
        (self.tokens, self.stopTokens) = (tokens, stopTokens)
        decoding = Locked(Decoding(decoder: frontEnd.tokenizer.streamDecoder()))
    }

    var text: String { decoding.withLock { $0.text } }

    func next() async throws(AccelError) -> String? {
        var iterator = tokens.makeAsyncIterator()
        while let token = try await iterator.next() {
            guard !stopTokens.contains(token), let id = TokenID(exactly: token) else { continue }
            if let piece = decoding.withLock({ $0.append($0.decoder.append(id)) }) { return piece }
        }
        return decoding.withLock { decoding in
            guard !decoding.hasEnded else { return nil }
            decoding.hasEnded = true
            return decoding.append(decoding.decoder.finish())
        }
    }
}

extension AccelSession {
    /// Generates the text that follows a prompt. The longest beginning of the prompt that the session holds already does not run again.
    /// - Parameters:
    ///   - prompt: the text, without a chat template; the tokenizer adds the tokens of a text's beginning.
    ///   - options: nil for the settings of the model's author.
    /// - Throws: `AccelError` (unsupported) if the package has no tokenizer, (invalid) for a prompt without tokens.
    public nonisolated func generate(
        prompt: String, _ options: GenerationOptions? = nil
    ) throws(AccelError) -> TextStream {
        try generate(options) { frontEnd in try frontEnd.tokens(of: prompt) }
    }

    /// Generates the answer of a model to a conversation, by the model's chat template.
    /// - Parameters:
    ///   - messages: the whole conversation, the question last.
    ///   - tools: the tools that the model may call, as JSON schemas; nil for none.
    ///   - variables: further values that the template reads, such as `enable_thinking`.
    ///   - options: nil for the settings of the model's author.
    /// - Throws: `AccelError` (unsupported) if the package has no tokenizer or no chat template, (invalid) if the template rejects the
    ///   messages.
    public nonisolated func generate(
        answering messages: [ChatMessage], tools: JSON? = nil, variables: [JSON.Member] = [],
        _ options: GenerationOptions? = nil
    ) throws(AccelError) -> TextStream {
        try generate(options) { frontEnd in try frontEnd.tokens(of: messages, tools: tools, variables: variables) }
    }

    /// The text of tokens that the session generates.
    package nonisolated func text(
        of stream: TokenStream, _ options: GenerationOptions
    ) throws(AccelError) -> TextStream {
        let stopTokens = if let own = options.stopTokens { own } else { try model.stopTokens() }
        return TextStream(generated: GeneratedText(stream, try model.text(), until: stopTokens))
    }

    private nonisolated func generate(
        _ options: GenerationOptions?, _ tokens: (TextFrontEnd) throws -> [Int64]
    ) throws(AccelError) -> TextStream {
        let frontEnd = try model.text()
        let options = options ?? GenerationOptions(frontEnd.generation)
        let prompt: [Int64]
        do { prompt = try tokens(frontEnd) } catch { throw AccelError(error, at: model.package.path) }
        return try text(of: generate(from: prompt, options), options)
    }
}

extension AccelModel {
    /// Generates the text that follows a prompt, in a session of its own.
    /// - Parameters: as for `AccelSession.generate(prompt:_:)`.
    public func generate(prompt: String, _ options: GenerationOptions? = nil) throws(AccelError) -> TextStream {
        try makeSession().generate(prompt: prompt, options)
    }

    /// Generates the answer of the model to a conversation, in a session of its own.
    /// - Parameters: as for `AccelSession.generate(answering:_:)`.
    public func generate(
        answering messages: [ChatMessage], tools: JSON? = nil, variables: [JSON.Member] = [],
        _ options: GenerationOptions? = nil
    ) throws(AccelError) -> TextStream {
        try makeSession().generate(answering: messages, tools: tools, variables: variables, options)
    }
}
