import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelText

/// Decodes windows of features in one session.
struct WindowDecoder: Sendable {
    let functions: SpeechFunctions
    let tokens: SpeechTokens
    let tokenizer: Tokenizer
    let session: AccelSession
    let options: TranscriptionOptions
    /// The end of the time for all windows.
    var deadline: Deadline
    private let rules: [any LogitRule]

    /// - Throws: as `AccelModel.transcribe`.
    init(_ model: AccelModel, _ options: TranscriptionOptions) throws(AccelError) {
        let path = model.package.path
        functions = try SpeechFunctions(model)
        tokenizer = try model.text().tokenizer
        do {
            guard let tokens = try SpeechTokens(files: model.package.assetFiles, tokenizer) else {
                throw AccelError(.unsupported, "the tokenizer has no tokens of times", at: path)
            }
            self.tokens = tokens
        } catch { throw AccelError(error, at: path) }
        let vocabulary = Int64(functions.parts.decoder.blocks[0].logits.shape.dimensions.last ?? 0)
        if let unknown = tokens.special.first(where: { $0 >= vocabulary }) {
            throw AccelError(
                .corrupt, expected: "special tokens below \(vocabulary)", found: "\(unknown)",
                at: "\(path), generation_config.json")
        }
        try Self.check(options, tokens, path)
        if options.findsWordTimes, functions.aligners.isEmpty {
            var error = AccelError(
                .unsupported, "no function tells where the words of a text are spoken", at: path)
            error.reason = .noWordTimes
            throw error
        }
        (self.options, deadline) = (options, Deadline(after: options.timeLimit))
        session = try model.makeSession()
        rules = [
            SuppressedTokens(tokens: tokens.suppressed), SuppressedFirstTokens(tokens: tokens.suppressedFirst),
            TimestampRule(
                end: tokens.end, first: tokens.firstTimestamp, noTimestamps: tokens.noTimestamps,
                lastInitial: tokens.lastInitialTimestamp),
        ]
    }

    private static func check(
        _ options: TranscriptionOptions, _ tokens: SpeechTokens, _ path: String
    ) throws(AccelError) {
        guard tokens.isMultilingual else {
            if options.task == .translate {
                throw AccelError(.invalid, "the model knows one language, and does not translate", at: path)
            }
            if let language = options.language, language != "en" {
                throw AccelError(.invalid, expected: "the language en, the only one", found: language, at: path)
            }
            return
        }
        if let language = options.language, tokens.languages[language] == nil {
            let known = tokens.languages.keys.sorted()
            throw AccelError(
                .invalid, "the model does not know the language \"\(language)\"", at: path,
                expected: known.joined(separator: ", "), found: language,
                hint: AccelError.suggestion(for: language, among: known) ?? "languages are codes such as en")
        }
        if tokens.tasks[options.task.rawValue] == nil {
            throw AccelError(.unsupported, "the model has no token of the task \(options.task.rawValue)", at: path)
        }
    }

    /// Returns the features of a sound, or of its spoken parts: a frame for each hop. Silence follows the last sample.
    /// - Throws: `RequestError` for a rate that cannot be converted, and for samples that are no sound; `AccelError`: (cancelled), (timed out).
    func features(
        of sound: Sound, _ spoken: [ClosedRange<Double>]?
    ) throws -> (LogMelSpectrogram.Features, SpokenParts?) {
        let extractor = functions.extractor
        var samples = try sound.samples(at: extractor.sampleRate)
        let parts = spoken.map { SpokenParts($0, sampleCount: samples.count, rate: extractor.sampleRate) }
        if let parts { samples = parts.joined(samples) }
        let frames = samples.count / extractor.hop
        // Otherwise the last frames would hold the end of the sound in reverse.
        samples.append(contentsOf: repeatElement(0, count: extractor.frameLength))
        let features = try extractor.features(of: samples, frames: frames) { try deadline.check(at: "a transcription") }
        return (features, parts)
    }

    /// Returns the text of tokens; tokens of times have none.
    func text(of tokens: some Sequence<Int64>) -> String {
        tokenizer.decode(tokens.filter { $0 < self.tokens.end }.compactMap { TokenID(exactly: $0) })
    }

    /// Decodes a window at rising temperatures, until its text is accepted.
    /// - Parameters:
    ///   - features: those of a whole window.
    ///   - language: its code; nil detects it.
    ///   - previous: the tokens of the text before the window.
    /// - Returns: the window at the first temperature that is accepted, else the best one, and its language; nil for a model of one
    ///   language.
    func decode(
        _ features: [Float], language: String?, after previous: [Int64]
    ) async throws(AccelError) -> (window: DecodedWindow, language: String?) {
        try await encode(features)
        let before = beginning(previous)
        let start = StartChooser(noSpeech: tokens.noSpeech, languages: tokens.languages.values)
        _ = try await generated(before + [tokens.start], 1, by: start)
        let spoken = language ?? start.language.flatMap { token in tokens.languages.first { $0.value == token }?.key }
        let prompt = before + request(in: spoken)
        var rejected: [DecodedWindow] = []
        for (index, temperature) in options.temperatures.enumerated() {
            let sampler = Sampler(
                temperature > 0
                    ? .random(temperature: temperature, seed: options.seed &+ UInt64(index)) : .greedy)
            let window = try await window(
                after: prompt, at: temperature, by: sampler, noSpeech: start.noSpeechProbability)
            guard options.rejects(window) else { return (window, spoken) }
            rejected.append(window)
        }
        guard let window = options.best(of: rejected) else {
            throw AccelError(.invalid, "there are no temperatures", at: "options of a transcription")
        }
        return (window, spoken)
    }

    private func window(
        after prompt: [Int64], at temperature: Float, by sampler: Sampler, noSpeech: Float
    ) async throws(AccelError) -> DecodedWindow {
        let chooser = TranscriptChooser(rules, after: prompt.count, by: sampler)
        // Half of the positions are for the text before.
        var chosen = try await generated(prompt, max(functions.parts.decoder.capacity / 2, 1), by: chooser)
        let logProbabilities = chooser.logProbabilities
        if chosen.last == tokens.end { chosen.removeLast() }
        let text = text(of: chosen).trimmed
        do {
            return DecodedWindow(
                tokens: chosen, logProbabilities: Array(logProbabilities.prefix(chosen.count)), text: text,
                temperature: temperature,
                meanLogProbability: logProbabilities.reduce(0, +) / Double(chosen.count + 1),
                noSpeechProbability: noSpeech,
                compressionRatio: try DecodedWindow.compressionRatio(of: text))
        } catch { throw AccelError(error, at: "a transcription") }
    }

    /// Makes the decoder's cross-attention states of a window.
    private func encode(_ features: [Float]) async throws(AccelError) {
        let dimensions = functions.features.shape.dimensions
        let input = try AccelTensor(features, dimensions[0], dimensions[1], dimensions[2])
        try await functions.parts.encode([functions.features.name: input], within: deadline, in: session)
    }

    /// The tokens that ask for the text of a window.
    /// - Parameter language: the code of the spoken language.
    func request(in language: String?) -> [Int64] {
        let asked = [language.flatMap { tokens.languages[$0] }, tokens.tasks[options.task.rawValue]]
        return [tokens.start] + asked.compactMap(\.self)
    }

    /// The end of the text before a window, as far as half of the positions hold it.
    private func beginning(_ previous: [Int64]) -> [Int64] {
        guard let mark = tokens.startOfPrevious, !previous.isEmpty else { return [] }
        return [mark] + previous.suffix(max(functions.parts.decoder.capacity / 2 - 1, 0))
    }

    private func generated(
        _ prompt: [Int64], _ count: Int, by chooser: any TokenChooser
    ) async throws(AccelError) -> [Int64] {
        try await functions.parts.tokens(
            after: prompt, atMost: count, until: [tokens.end], by: chooser, within: deadline, in: session)
    }
}

extension Sound {
    /// Returns the mean of all channels at a rate.
    /// - Throws: `RequestError` for a rate that cannot be converted, and for samples whose spectra are no numbers.
    func samples(at rate: Int) throws(RequestError) -> [Float] {
        let samples = try mono.resampled(to: rate).samples
        guard let index = samples.firstIndex(where: { !(abs($0) <= SampleEncoding.largestSample) }) else {
            return samples
        }
        throw RequestError(
            "the sample at \(Double(index) / Double(rate)) s is \(samples[index]), where full scale is 1")
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }
}
