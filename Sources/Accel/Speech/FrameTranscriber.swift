import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPlatform

/// Transcribes a sound by a model that gives its frames tokens, without a language model: characters or pieces of words.
actor FrameTranscriber<Reader: FrameReader>: SegmentMaker {
    nonisolated let language = Locked<String?>(nil)
    nonisolated let secondsWithoutSpeech = Locked(0.0)
    nonisolated let secondsDone = Locked(0.0)
    private let reader: Reader
    private let session: AccelSession
    private let spoken: [ClosedRange<Double>]?
    /// The sound, until its samples replace it.
    private var sound: Sound?
    private var samples: [Float] = []
    private var windows: ArraySlice<CTCWindows.Window> = []
    private var segments: Reader.Segments
    private var waiting: ArraySlice<CTCSegments.Segment> = []
    private var times: SoundTimes
    private var deadline: Deadline
    private var isFirst = true
    private var isAtWork = false

    private var rate: Int { reader.longest.rate }
    /// The samples from a frame to the next one.
    private var hop: Int { reader.input.hop }

    /// - Throws: `AccelError`: (unsupported) for a translation, and for functions of sounds that are too short; (invalid) for a language.
    init(
        _ model: AccelModel, _ reader: Reader, _ sound: Sound?, _ options: TranscriptionOptions
    ) throws(AccelError) {
        (self.reader, self.sound, spoken) = (reader, sound, options.spoken)
        (times, deadline) = (SoundTimes(duration: sound?.duration ?? 0), Deadline(after: options.timeLimit))
        let path = model.package.path
        try options.check()
        try options.checkPlain(path)
        let (longest, hop) = (reader.longest, reader.input.hop)
        guard longest.sampleCount / 2 > hop else {
            throw AccelError(
                .unsupported, expected: "functions of sounds of more than \(2 * hop) samples",
                found: "\(longest.sampleCount)", at: path)
        }
        // Half a second without text ends a segment.
        segments = reader.makeSegments(pause: longest.rate / 2 / hop)
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
        try prepare()
        while waiting.isEmpty, let window = windows.first {
            try deadline.check(at: "a transcription")
            var found: [CTCSegments.Segment] = []
            let frames = try await reader.frames(
                window.frames, of: Array(samples[window.samples]), within: deadline, in: session)
            windows.removeFirst()
            for frame in frames {
                if let segment = segments.append(frame) { found.append(segment) }
            }
            if windows.isEmpty, let segment = segments.finish() { found.append(segment) }
            waiting = found[...]
            noteProgress(window.samples.lowerBound + window.frames.upperBound * hop)
        }
        if windows.isEmpty { noteProgress(samples.count) }
        return try waiting.popFirst().map(segment)
    }

    /// - Parameter done: in samples.
    private func noteProgress(_ done: Int) {
        let seconds = times.done(upTo: Double(done) / Double(rate), isAll: windows.isEmpty)
        secondsDone.withLock { $0 = seconds }
    }

    /// Makes samples of a sound that has not begun.
    private func prepare() throws(AccelError) {
        guard let sound else { return }
        try deadline.check(at: "a transcription")
        do {
            samples = try sound.samples(at: rate)
        } catch { throw AccelError(error, at: "the sound") }
        times.parts = spoken.map { SpokenParts($0, sampleCount: samples.count, rate: rate) }
        if let parts = times.parts { samples = parts.joined(samples) }
        let longest = reader.longest.sampleCount
        windows =
            CTCWindows(of: samples.count, length: longest, hop: hop, frameCount: reader.input.frameCount).windows[...]
        segments.restart()
        self.sound = nil
    }

    private func time(_ frame: Int, isEnd: Bool) -> Double {
        times.time(Double(frame * hop) / Double(rate), isEnd: isEnd)
    }

    private func segment(_ found: CTCSegments.Segment) throws(AccelError) -> TranscriptionSegment {
        let vocabulary = reader.vocabulary
        let space = vocabulary.delimiter == nil && vocabulary.wordMark == nil ? "" : " "
        let words = found.words.enumerated().map { index, word in
            TranscriptionSegment.Word(
                text: (index == 0 && isFirst || word.isContinued ? "" : space) + word.text,
                start: time(word.frames.lowerBound, isEnd: false), end: time(word.frames.upperBound, isEnd: true),
                probability: exp(word.logProbability))
        }
        isFirst = false
        let text = words.map(\.text).joined()
        do {
            return TranscriptionSegment(
                start: time(found.frames.lowerBound, isEnd: false), end: time(found.frames.upperBound, isEnd: true),
                text: text, tokens: found.tokens, words: words, temperature: 0,
                meanLogProbability: found.logProbability,
                compressionRatio: try DecodedWindow.compressionRatio(of: text), noSpeechProbability: 0)
        } catch { throw AccelError(error, at: "a transcription") }
    }
}
