import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPlatform
import AccelText

/// Transcribes a sound by a model whose encoder takes samples and whose decoder has no times, such as Moonshine: the likeliest tokens, a
/// segment for each window.
actor SampleTranscriber: SegmentMaker {
    nonisolated let language = Locked<String?>(nil)
    nonisolated let secondsWithoutSpeech = Locked(0.0)
    nonisolated let secondsDone = Locked(0.0)
    private let functions: SampleFunctions
    private let tokenizer: Tokenizer
    /// The first token of each text, and those that end it.
    private let start: Int64
    private let ends: Set<Int64>
    private let isNormalised: Bool
    private let session: AccelSession
    private let spoken: [ClosedRange<Double>]?
    /// The sound, until its windows replace it.
    private var sound: Sound?
    private var windows: ArraySlice<SpeechWindow> = []
    private var times: SoundTimes
    private var deadline: Deadline
    private var isFirst = true
    private var isAtWork = false

    /// The most tokens of a second, with the first one, as the authors of Moonshine limit them: a text that is longer repeats itself.
    private static let tokensPerSecond = 6.5

    /// - Throws: `AccelError`: (unsupported) for a package without tokenizer, for a translation and for times of words; (invalid) for a
    ///   language; (corrupt) for settings of the package that have no meaning.
    init(
        _ model: AccelModel, _ functions: SampleFunctions, _ sound: Sound?, _ options: TranscriptionOptions
    ) throws(AccelError) {
        let path = model.package.path
        (self.functions, self.sound, spoken) = (functions, sound, options.spoken)
        (times, deadline) = (SoundTimes(duration: sound?.duration ?? 0), Deadline(after: options.timeLimit))
        try options.check()
        try options.checkPlain(path)
        guard !options.findsWordTimes else {
            throw AccelError(.unsupported, "the model does not tell where the words of a text are spoken", at: path)
        }
        tokenizer = try model.text().tokenizer
        ends = try model.stopTokens()
        let files = model.package.assetFiles
        let vocabulary = functions.longest.parts.decoder.blocks[0].logits.shape.dimensions.last ?? 0
        do {
            let documents = try ["generation_config.json", "config.json"].map(files.document)
            let field = documents.map { $0["decoder_start_token_id"] }.first(where: \.exists)
            start = Int64(try field?.int(in: 0...max(vocabulary - 1, 0)) ?? 1)
            if case .samples(let isNormalised)? = try AudioFeatures(files: files)?.kind {
                self.isNormalised = isNormalised
            } else {
                // As in all published models.
                isNormalised = false
            }
        } catch { throw AccelError(error, at: path) }
        session = try model.makeSession()
    }

    func hear(_ window: SpeechWindow) {
        let silence = times.hear(window)
        secondsWithoutSpeech.withLock { $0 += silence }
        sound = window.sound
    }

    func next() async throws(AccelError) -> TranscriptionSegment? {
        guard !isAtWork else {
            throw AccelError(.busy, "another iterator asks for a segment", at: "a transcription")
        }
        isAtWork = true
        defer { isAtWork = false }
        deadline.start()
        try await prepare()
        while let window = windows.first {
            try deadline.check(at: "a transcription")
            let segment = try await segment(of: window)
            windows.removeFirst()
            noteProgress(window.start + window.sound.duration)
            if let segment { return segment }
            secondsWithoutSpeech.withLock { $0 += window.sound.duration }
        }
        noteProgress(times.end)
        return nil
    }

    /// - Parameter done: in seconds of the windows.
    private func noteProgress(_ done: Double) {
        let seconds = times.done(upTo: done, isAll: windows.isEmpty)
        secondsDone.withLock { $0 = seconds }
    }

    /// Makes windows of a sound that has not begun.
    private func prepare() async throws(AccelError) {
        guard let sound else { return }
        try deadline.check(at: "a transcription")
        var samples: [Float]
        do {
            samples = try sound.samples(at: functions.rate)
        } catch { throw AccelError(error, at: "the sound") }
        times.parts = spoken.map { SpokenParts($0, sampleCount: samples.count, rate: functions.rate) }
        if let parts = times.parts { samples = parts.joined(samples) }
        let whole = Sound(frames: samples, sampleRate: functions.rate)
        if samples.count <= functions.longest.sampleCount {
            windows = [SpeechWindow(start: 0, sound: whole)]
        } else {
            let cut = try await self.cut(whole)
            secondsWithoutSpeech.withLock { $0 += whole.duration - cut.reduce(0) { $0 + $1.sound.duration } }
            windows = cut[...]
        }
        self.sound = nil
    }

    /// Cuts a sound into windows that the functions take: each as long as possible up to its longest pause.
    private func cut(_ whole: Sound) async throws(AccelError) -> [SpeechWindow] {
        // The frames of `SpeechFrames` are a fiftieth of a second.
        let frame = max(functions.rate / 50, 1)
        let seconds = Double(functions.longest.sampleCount / frame * frame) / Double(functions.rate)
        var options = SpeechWindowOptions()
        (options.longest, options.pause) = (seconds, seconds)
        var frames = try SpeechFrames(from: functions.rate, options, nil)
        let found = try await frames.append(whole)
        return found + (try await frames.finish())
    }

    /// Returns the segment of a window; nil for a window without text.
    private func segment(of window: SpeechWindow) async throws(AccelError) -> TranscriptionSegment? {
        var samples = window.sound.samples
        let limit = Int(Double(samples.count) * (Self.tokensPerSecond / Double(functions.rate))) - 1
        guard limit > 0 else { return nil }
        if isNormalised { samples = AudioFeatures.normalised(samples) }
        let own = functions.window(for: samples.count)
        try await own.parts.encode(try own.inputs(samples), within: deadline, in: session)
        let chooser = TranscriptChooser([], after: 1, by: Sampler(.greedy))
        var tokens = try await own.parts.tokens(
            after: [start], atMost: limit, until: ends, by: chooser, within: deadline, in: session)
        let logProbabilities = chooser.logProbabilities
        if let last = tokens.last, ends.contains(last) { tokens.removeLast() }
        let text = tokenizer.decode(tokens.compactMap { TokenID(exactly: $0) })
        guard !text.allSatisfy(\.isWhitespace) else { return nil }
        let space = isFirst || text.first?.isWhitespace == true ? "" : " "
        isFirst = false
        do {
            return TranscriptionSegment(
                start: times.time(window.start, isEnd: false),
                end: times.time(window.start + window.sound.duration, isEnd: true), text: space + text, tokens: tokens,
                words: [], temperature: 0,
                meanLogProbability: logProbabilities.reduce(0, +) / Double(max(logProbabilities.count, 1)),
                compressionRatio: try DecodedWindow.compressionRatio(of: text), noSpeechProbability: 0)
        } catch { throw AccelError(error, at: "a transcription") }
    }
}
