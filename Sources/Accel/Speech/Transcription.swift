public import AccelAudio
import AccelByteIO
import AccelFrontEnds

/// A part of a transcript.
public struct TranscriptionSegment: Equatable, Sendable {
    /// The times of its beginning and its end, in seconds.
    public let start, end: Double
    /// The text, with the white space before it.
    public let text: String
    /// The tokens of the text, and those of times around it.
    public let tokens: [Int64]
    /// The words with their times; empty unless they are asked for (`TranscriptionOptions.findsWordTimes`).
    public let words: [Word]
    /// The temperature at which its window was decoded.
    public let temperature: Float
    /// The mean log-probability of the tokens of its window.
    public let meanLogProbability: Double
    /// The bytes of its window's text by those of their zlib stream.
    public let compressionRatio: Double
    /// The probability that its window has no speech.
    public let noSpeechProbability: Float

    /// A word with the marks around it.
    public struct Word: Equatable, Sendable {
        /// The text, with the white space before it.
        public internal(set) var text: String
        /// The times of its beginning and its end, in seconds.
        public internal(set) var start, end: Double
        /// The mean probability of its tokens, among those that the rules of transcripts allow.
        public let probability: Double
    }
}

/// The transcript of a sound, segment by segment. The features of the sound are computed when the first segment is asked for, and a window when
/// its first one is. A second iteration goes on where the first one ended.
public struct Transcription: AsyncSequence, Sendable {
    public typealias Element = TranscriptionSegment
    let transcriber: any SegmentMaker
    /// The length of the sound, in seconds.
    public let duration: Double

    /// The seconds from the beginning of the sound whose segments are computed, silence included: `duration` at the end.
    public var secondsDone: Double { transcriber.secondsDone.withLock { $0 } }

    /// The code of the language that is spoken, such as `en`: the requested one, or the detected one once the first window has been
    /// computed. nil before, for a model of one language, and for one that tells none.
    public var language: String? { transcriber.language.withLock { $0 } }

    /// The seconds of the windows so far that the model takes for silence, whatever text it finds in them (`TranscriptionOptions.noSpeechLimit`).
    public var secondsWithoutSpeech: Double { transcriber.secondsWithoutSpeech.withLock { $0 } }

    /// Asks for one segment after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let transcriber: any SegmentMaker

        /// The next segment; nil after the last one.
        /// - Throws: `AccelError`: (invalid) for a sound that cannot be resampled, (cancelled) when the task is, (timed out) once the
        ///   time limit is over, (busy) while another iterator is at work, and the backend's.
        public mutating func next() async throws(AccelError) -> TranscriptionSegment? { try await transcriber.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(AccelError)
            -> TranscriptionSegment?
        {
            try await transcriber.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(transcriber: transcriber) }
}

extension AccelModel {
    /// Returns the text that is spoken in a sound of any length, by a model such as Whisper, one whose decoder has no times, such as
    /// Moonshine, or one with tokens for each frame, such as wav2vec 2.0 or Parakeet.
    ///
    ///     for try await segment in try model.transcribe(try Sound(contentsOf: path)) { print(segment.text) }
    ///
    /// The sound is mixed to one channel, resampled, and decoded in windows by the rules of OpenAI's Whisper (Radford et al. 2022, section
    /// 4.5 and appendix): times in pairs, windows from the last time on, and higher temperatures for texts that are not accepted. The other
    /// kinds have no temperatures, and find no language and no probability of silence. A decoder without times takes the likeliest tokens, in
    /// windows that end in pauses, a segment for each. A model of frames takes the likeliest token of each, a transducer one after the other,
    /// in windows that overlap by a third; a segment ends in a pause of half a second, and has words with times.
    /// - Throws: `AccelError`: (unsupported) for a model that transcribes no sound, or a package without tokenizer; (invalid) for a language
    ///   or task that the model does not know; (memory) without memory for the states.
    public func transcribe(
        _ sound: Sound, _ options: TranscriptionOptions = TranscriptionOptions()
    ) throws(AccelError) -> Transcription {
        Transcription(transcriber: try segmentMaker(sound, options), duration: sound.duration)
    }
}
