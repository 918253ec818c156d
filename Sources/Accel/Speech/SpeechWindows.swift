public import AccelAudio

/// How a sound that goes on, such as that of a microphone, is cut into windows with speech. Sound counts as speech by its level, or by a model
/// that tells speech from noise and music, such as Silero VAD.
public struct SpeechWindowOptions: Sendable {
    /// Quieter sound is silence: the root mean square of 20 ms, in decibels of full scale. A model that detects speech has no use for it.
    public var quietLevel = -45.0
    /// Silence of so many seconds ends a window.
    public var pause = 0.6
    /// The most seconds of a window. A longer one is cut in its longest pause, or where its last quarter is quietest.
    public var longest = 4.2
    /// The seconds of silence before and after speech that a window has.
    public var margin = 0.2

    /// Windows of 4.2 seconds or less.
    public init() {}

    /// - Throws: `AccelError` (invalid) for numbers without a meaning.
    func check() throws(AccelError) {
        let isValid =
            quietLevel.isFinite && quietLevel <= 0 && (0.02...1e3).contains(pause) && (0.1...1e3).contains(longest)
            && (0...pause).contains(margin) && margin < longest
        guard isValid else {
            throw AccelError(
                .invalid, expected: "a level of at most 0 dB, and seconds with margin <= pause and margin < longest",
                found: "\(quietLevel) dB, pause \(pause), longest \(longest), margin \(margin)",
                at: "options of windows of speech")
        }
    }
}

/// A part of a sound that goes on.
public struct SpeechWindow: Equatable, Sendable {
    /// The time of its first sample, in seconds from the beginning of the sound.
    public let start: Double
    /// The sound, one channel.
    public let sound: Sound
}

/// The parts with speech of a sound that goes on. A window is there once its end has been heard.
public struct SpeechWindows<Source: AsyncSequence>: AsyncSequence where Source.Element == Sound {
    public typealias Element = SpeechWindow
    let source: Source
    let options: SpeechWindowOptions
    let detector: AccelModel?

    /// Asks for one piece of the sound after the other, as far as a window needs them.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var source: Source.AsyncIterator
        fileprivate let options: SpeechWindowOptions
        fileprivate let detector: AccelModel?
        /// Made of the first piece, with its rate.
        private var framing: (frames: SpeechFrames, rate: Int)?
        private var waiting: ArraySlice<SpeechWindow> = []
        private var isAtEnd = false
        /// An error of the source, for when all that was heard before is handed over.
        private var failure: (any Error)?
        /// The seconds of all pieces.
        private(set) var secondsHeard = 0.0

        fileprivate init(_ source: Source.AsyncIterator, _ options: SpeechWindowOptions, _ detector: AccelModel?) {
            (self.source, self.options, self.detector) = (source, options, detector)
        }

        /// The next window; nil after the last one.
        /// - Throws: `AccelError`: (invalid) for a piece of another rate than the first one, one that cannot be resampled, and samples that
        ///   are no sound; and the detector's. The errors of the source, after the windows that were heard before.
        public mutating func next() async throws -> SpeechWindow? { try await next(isolation: nil) }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> SpeechWindow? {
            while waiting.isEmpty, !isAtEnd {
                let piece: Sound?
                do {
                    piece = try await source.next(isolation: actor)
                } catch {
                    if error is CancellationError || Task.isCancelled { throw error }
                    (piece, failure) = (nil, error)
                }
                guard let piece else {
                    isAtEnd = true
                    waiting = (try await framing?.frames.finish() ?? [])[...]
                    continue
                }
                secondsHeard += piece.duration
                var (frames, rate) =
                    try framing ?? (SpeechFrames(from: piece.sampleRate, options, detector), piece.sampleRate)
                guard rate == piece.sampleRate else {
                    throw AccelError(
                        .invalid, expected: "pieces of one rate, that of the first one, \(rate) Hz",
                        found: "\(piece.sampleRate) Hz", at: "the sound")
                }
                waiting = try await frames.append(piece)[...]
                framing = (frames, rate)
            }
            if let next = waiting.popFirst() { return next }
            defer { failure = nil }
            if let failure { throw failure }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source.makeAsyncIterator(), options, detector) }
}

extension SpeechWindows: Sendable where Source: Sendable {}

extension AsyncSequence where Element == Sound {
    /// Returns the windows with speech of a sound whose pieces, of any length and all of one rate, follow each other.
    /// - Parameter detector: a model that tells speech, such as Silero VAD; nil to tell it by the level of the sound. Its windows have 16 kHz,
    ///   others the rate of the pieces.
    /// - Throws: `AccelError` (invalid) for options without a meaning.
    public func speechWindows(
        _ options: SpeechWindowOptions = SpeechWindowOptions(), by detector: AccelModel? = nil
    ) throws(AccelError) -> SpeechWindows<Self> {
        try options.check()
        return SpeechWindows(source: self, options: options, detector: detector)
    }
}
