public import AccelAudio

/// The transcript of a sound that goes on, such as that of a microphone: the segments of a window follow once its end has been heard. A second
/// iteration goes on where the first one ended.
///
/// The pieces of the sound are asked for one by one, each after the text of those before: a source that cannot wait, such as a microphone, has
/// to keep what it records (`AsyncStream` does).
public struct LiveTranscription<Source: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Source.Element == Sound {
    public typealias Element = TranscriptionSegment
    let transcriber: LiveTranscriber<Source>

    /// The code of the language that is spoken: the requested one, or the one that was detected in the first window; nil before, and for a model
    /// of one language.
    public var language: String? { transcriber.transcriber.language.withLock { $0 } }

    /// The seconds from the beginning of the sound whose segments are computed, up to the end of a window.
    public var secondsDone: Double { transcriber.transcriber.secondsDone.withLock { $0 } }

    /// The seconds before, between and after windows, and of windows that the model takes for silence.
    public var secondsWithoutSpeech: Double { transcriber.transcriber.secondsWithoutSpeech.withLock { $0 } }

    /// Asks for one segment after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let transcriber: LiveTranscriber<Source>

        /// The next segment; nil after the last one.
        /// - Throws: the errors of the source, and `AccelError` as `Transcription.AsyncIterator.next` does.
        public mutating func next() async throws -> TranscriptionSegment? { try await transcriber.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> TranscriptionSegment? {
            try await transcriber.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(transcriber: transcriber) }
}

/// Decodes the windows of a sound that goes on.
actor LiveTranscriber<Source: AsyncSequence & Sendable> where Source.Element == Sound {
    nonisolated let transcriber: any SegmentMaker
    private var windows: SpeechWindows<Source>.AsyncIterator
    private var isAtWork = false
    /// The end of the last window, in seconds.
    private var end = 0.0

    init(_ transcriber: any SegmentMaker, _ windows: SpeechWindows<Source>) {
        (self.transcriber, self.windows) = (transcriber, windows.makeAsyncIterator())
    }

    func next() async throws -> TranscriptionSegment? {
        guard !isAtWork else {
            throw AccelError(.busy, "another iterator asks for a segment", at: "a transcription")
        }
        isAtWork = true
        defer { isAtWork = false }
        while true {
            if let segment = try await transcriber.next() { return segment }
            guard let window = try await nextWindow() else {
                let heard = max(windows.secondsHeard, end)
                transcriber.secondsWithoutSpeech.withLock { $0 += heard - end }
                transcriber.secondsDone.withLock { $0 = heard }
                end = heard
                return nil
            }
            end = window.start + window.sound.duration
            await transcriber.hear(window)
        }
    }

    private func nextWindow() async throws -> SpeechWindow? {
        // Nobody else has the iterator meanwhile.
        var windows = windows
        defer { self.windows = windows }
        return try await windows.next(isolation: self)
    }
}

extension AccelModel {
    /// Returns the text that is spoken in a sound while it goes on, by a model such as Whisper.
    ///
    ///     for try await segment in try model.transcribe(live: microphone) { print(segment.text) }
    ///
    /// The sound is cut into windows with speech (`SpeechWindowOptions`), each of which is transcribed after the text of those before, as
    /// `transcribe(_:_:)` does it. Times are seconds from the beginning of the sound. The time limit of the options ends the work on a window, and
    /// that on the next one before it begins; it does not end the source.
    /// - Parameters:
    ///   - pieces: the sound in pieces of any length, all of one rate.
    ///   - detector: a model that tells speech, such as Silero VAD; nil to tell it by the level of the sound.
    /// - Throws: `AccelError` as `transcribe(_:_:)`; (invalid) for `spoken` among the options, and for windows without a meaning.
    public func transcribe<Source: AsyncSequence & Sendable>(
        live pieces: Source, _ options: TranscriptionOptions = TranscriptionOptions(),
        in windows: SpeechWindowOptions = SpeechWindowOptions(), by detector: AccelModel? = nil
    ) throws(AccelError) -> LiveTranscription<Source> where Source.Element == Sound {
        guard options.spoken == nil else {
            throw AccelError(
                .invalid, expected: "options without spoken parts, which are found while the sound goes on",
                found: "spoken", at: "options of a transcription")
        }
        let windows = try pieces.speechWindows(windows, by: detector)
        return LiveTranscription(transcriber: LiveTranscriber(try segmentMaker(nil, options), windows))
    }
}
