import AccelByteIO
package import AccelFrontEnds

/// How a text is spoken by a language model that writes codes, such as Orpheus.
public struct CodeSpeakingOptions: Sendable {
    /// The choice of tokens, and their number at most: seven are a frame of 1/12 second. The default is that of Orpheus's own code: 1200
    /// tokens, a temperature of 0.6, a topP of 0.8 and a repetition penalty of 1.3. The token of the end is a stop token in any case. The
    /// time limit ends the tokens; the sound of those before it follows.
    public var generation: GenerationOptions
    /// The tokens of codes; nil for those of Orpheus by their names in the tokenizer (`<custom_token_N>`).
    public var tokens: CodeTokens?
    /// The seed of the noise in the sound.
    public var noiseSeed: UInt64

    /// The options of the original model.
    /// - Parameter seed: of tokens and of noise.
    public init(seed: UInt64 = 0) {
        generation = GenerationOptions(.orpheus, maxTokens: Self.defaultTokenCount, seed: seed)
        noiseSeed = seed
    }

    /// The number of tokens that Orpheus's own code generates at most: 14.6 seconds.
    package static let defaultTokenCount = 1200
}

extension GenerationDefaults {
    /// The settings of `generate_tokens_sync` in Orpheus's own code (github.com/canopyai/Orpheus-TTS, orpheus_tts/engine_class.py).
    /// Its README asks for a repetition penalty of at least 1.1; its example of a server has a temperature of 0.4, a topP of 0.9 and
    /// a penalty of 1.1.
    package static var orpheus: GenerationDefaults {
        var settings = GenerationDefaults()
        (settings.samples, settings.temperature, settings.topP) = (true, 0.6, 0.8)
        settings.repetitionPenalty = 1.3
        return settings
    }
}

extension AccelModel {
    /// Speaks a text, by a language model that writes codes, such as Orpheus, and a vocoder, such as SNAC.
    ///
    ///     for try await piece in try orpheus.speak(text: "Hello.", voice: "tara", through: snac) { play(piece) }
    ///
    /// Each piece is computed when it is asked for: tokens are generated until a function of the vocoder has its frames. The pieces join
    /// exactly; see `CodeVocoder`. The model chooses among the codes of each slot and the end.
    /// - Parameters:
    ///   - text: one or a few sentences. Orpheus takes marks such as `<laugh>`, too.
    ///   - voice: the name that stands before the text, as in `tara: Hello.`; nil for a text that has one, or a model without voices.
    ///   - vocoder: a model of the codes.
    /// - Throws: `AccelError`: (unsupported) for models that do not write codes, or do not turn them into sound; (invalid) for models whose
    ///   codes do not fit, and for options without a meaning.
    public func speak(
        text: String, voice: String? = nil, through vocoder: AccelModel,
        _ options: CodeSpeakingOptions = CodeSpeakingOptions()
    ) throws(AccelError) -> SpeechStream {
        let path = package.path
        try options.generation.check()
        let functions = try DecodingFunctions(self)
        let frontEnd = try self.text()
        let vocoder = try CodeVocoder(vocoder, seed: options.noiseSeed)
        let tokens =
            if let tokens = options.tokens { tokens } else {
                try CodeTokens.orpheus(in: frontEnd, codebookSize: vocoder.codebookSize, at: path)
            }
        let reader = try CodeFrameReader(tokens)
        guard tokens.codesPerFrame == vocoder.codesPerFrame, tokens.codebookSize <= vocoder.codebookSize else {
            throw AccelError(
                .invalid, expected: "\(vocoder.codesPerFrame) codes a frame, of \(vocoder.codebookSize) each",
                found: "\(tokens.codesPerFrame), of \(tokens.codebookSize) each", at: "the tokens of codes")
        }
        let vocabulary = functions.blocks[0].logits.shape.dimensions.last ?? 0
        let largest = (tokens.before + tokens.after + [tokens.end]).reduce(tokens.codes.upperBound - 1, max)
        guard largest < vocabulary else {
            throw AccelError(
                .unsupported, expected: "a model with token \(largest), as codes need it",
                found: "\(vocabulary) tokens", at: path)
        }
        let prompt: [Int64]
        do { prompt = tokens.prompt(try frontEnd.tokens(of: voice.map { "\($0): \(text)" } ?? text)) } catch {
            throw AccelError(error, at: path)
        }
        var generation = options.generation
        generation.stopTokens = (generation.stopTokens ?? []).union([tokens.end])
        let chooser = CodeChooser(
            tokens, after: prompt.count,
            by: Sampler(generation.sampling, repetitionPenalty: generation.repetitionPenalty))
        let stream = try makeSession().generate(from: prompt, generation, by: chooser, with: functions)
        return SpeechStream(speaker: CodeSpeaker(stream, reader, vocoder))
    }
}
