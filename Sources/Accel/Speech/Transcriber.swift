import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelText

/// Decodes a sound window by window by a model such as Whisper, each with the text of those before it as its prompt.
actor Transcriber: SegmentMaker {
    private var decoder: WindowDecoder
    private let options: TranscriptionOptions
    /// The sound, whose features replace it when they are needed.
    private enum Input {
        case nothing
        case sound(Sound)
        case features(LogMelSpectrogram.Features)
    }
    private var input = Input.nothing
    private var times: SoundTimes

    nonisolated let language: Locked<String?>
    nonisolated let secondsWithoutSpeech = Locked(0.0)
    nonisolated let secondsDone = Locked(0.0)
    /// The first frame of the next window.
    private var position = 0
    /// The tokens of the text so far, since the last window that was not accepted at a low temperature.
    private var previous: [Int64] = []
    /// Segments of the last window that nobody has asked for.
    private var waiting: ArraySlice<TranscriptionSegment> = []
    private var isAtWork = false

    /// After a window of a higher temperature, or one that was not accepted, its text is no prompt.
    private static let highestPromptTemperature: Float = 0.5

    /// - Parameter sound: nil if all sound comes later (`hear`).
    init(_ model: AccelModel, _ sound: Sound?, _ options: TranscriptionOptions) throws(AccelError) {
        try options.check()
        let decoder = try WindowDecoder(model, options)
        (self.decoder, self.options) = (decoder, options)
        times = SoundTimes(duration: sound?.duration ?? 0)
        language = Locked(decoder.tokens.isMultilingual ? options.language : nil)
        if let sound { input = .sound(sound) }
    }

    func hear(_ window: SpeechWindow) {
        let silence = times.hear(window)
        secondsWithoutSpeech.withLock { $0 += silence }
        (input, position) = (.sound(window.sound), 0)
    }

    func next() async throws(AccelError) -> TranscriptionSegment? {
        guard !isAtWork else {
            throw AccelError(.busy, "another iterator asks for a segment", at: "a transcription")
        }
        isAtWork = true
        defer { isAtWork = false }
        decoder.deadline.start()
        guard let features = try prepared() else { return nil }
        while waiting.isEmpty, position < features.frameCount {
            try decoder.deadline.check(at: "a transcription")
            try await decodeWindow(of: features)
            noteProgress(features.frameCount)
        }
        noteProgress(features.frameCount)
        return waiting.popFirst()
    }

    /// - Parameter frameCount: those of the sound, which may have none.
    private func noteProgress(_ frameCount: Int) {
        let done = times.done(upTo: seconds(position), isAll: position >= frameCount)
        secondsDone.withLock { $0 = done }
    }

    private func prepared() throws(AccelError) -> LogMelSpectrogram.Features? {
        switch input {
        case .nothing: return nil
        case .features(let features): return features
        case .sound(let sound):
            try decoder.deadline.check(at: "a transcription")
            do {
                let features: LogMelSpectrogram.Features
                (features, times.parts) = try decoder.features(of: sound, options.spoken)
                input = .features(features)
                return features
            } catch { throw AccelError(error, at: "the sound") }
        }
    }

    private func decodeWindow(of features: LogMelSpectrogram.Features) async throws(AccelError) {
        let length = min(decoder.functions.frames, features.frameCount - position)
        let spoken = language.withLock { $0 }
        let (window, detected) = try await decoder.decode(
            features.window(position..<position + decoder.functions.frames), language: spoken,
            after: options.usesPreviousText ? previous : [])
        if spoken == nil { language.withLock { $0 = detected } }
        guard !options.isSilence(window) else {
            secondsWithoutSpeech.withLock { $0 += seconds(length) }
            position += length
            return
        }
        let parts = WindowParts(
            window.tokens, first: decoder.tokens.firstTimestamp, step: decoder.functions.framesPerState, length: length)
        let words =
            options.findsWordTimes ? try await decoder.words(of: parts, in: window, spoken ?? detected, length) : []
        let segments = parts.parts.enumerated().map { index, part in
            segment(part, words.isEmpty ? [] : words[index], of: window, within: features.frameCount)
        }.filter { segment in
            segment.start != segment.end && !segment.text.allSatisfy(\.isWhitespace)
        }
        waiting = segments[...]
        previous += segments.flatMap(\.tokens)
        if options.rejects(window) || window.temperature > Self.highestPromptTemperature { previous = [] }
        position += parts.next
    }

    private func seconds(_ frames: Int) -> Double {
        Double(frames * decoder.functions.extractor.hop) / Double(decoder.functions.extractor.sampleRate)
    }

    private func time(_ frame: Int, isEnd: Bool) -> Double { times.time(seconds(frame), isEnd: isEnd) }

    /// Returns a word of the window with the times of the sound.
    private func placed(_ word: TranscriptionSegment.Word) -> TranscriptionSegment.Word {
        var word = word
        word.start = times.time(seconds(position) + word.start, isEnd: false)
        word.end = max(word.start, times.time(seconds(position) + word.end, isEnd: true))
        return word
    }

    /// - Parameter frameCount: those of the sound. A text that begins in it ends in it: models take silence after it for speech.
    private func segment(
        _ part: WindowParts.Part, _ words: [TranscriptionSegment.Word], of window: DecodedWindow,
        within frameCount: Int
    ) -> TranscriptionSegment {
        let (start, end) = (position + part.start, position + part.end)
        return TranscriptionSegment(
            start: time(start, isEnd: false), end: time(start < frameCount ? min(end, frameCount) : end, isEnd: true),
            text: decoder.text(of: part.tokens), tokens: part.tokens, words: words.map(placed),
            temperature: window.temperature,
            meanLogProbability: window.meanLogProbability,
            compressionRatio: window.compressionRatio, noSpeechProbability: window.noSpeechProbability)
    }
}
