/// How a sound is transcribed.
public struct TranscriptionOptions: Sendable {
    /// The text that is wanted.
    public enum Task: String, CaseIterable, Sendable {
        /// The words that are spoken.
        case transcribe
        /// Their translation into English.
        case translate
    }

    /// The text that is wanted.
    public var task: Task
    /// The language that is spoken by its code, such as `en`; nil detects it in the first window.
    public var language: String?
    /// The parts of the sound that are transcribed, in seconds and in order, such as those of `AccelModel.speech`; nil for the whole sound. The
    /// model hears them one right after the other. Times of segments are those of the sound.
    public var spoken: [ClosedRange<Double>]?
    /// Finds the time of each word, by a function that tells where the decoder attends to (`FunctionRole.align`).
    public var findsWordTimes = false
    /// The temperatures at which a window is decoded, one after the other, until its text is accepted. At 0 each token is the likeliest one.
    /// If no text is accepted, the most probable one counts.
    public var temperatures: [Float] = [0, 0.2, 0.4, 0.6, 0.8, 1]
    /// A text whose bytes are more than this many times those of its zlib stream repeats itself, and is not accepted.
    public var compressionRatioLimit: Double = 2.4
    /// A text whose tokens have a smaller mean log-probability is not accepted.
    public var logProbabilityLimit: Double = -1
    /// A window that is not accepted and has a larger probability of no speech is silence.
    public var noSpeechLimit: Float = 0.6
    /// The text of earlier windows is the beginning of the prompt, except after windows that were not accepted at a temperature of at most 0.5.
    public var usesPreviousText = true
    /// The seed of tokens at temperatures above 0.
    public var seed: UInt64 = 0
    /// The time for all segments, from the first one that is asked for; nil for no limit. After it a transcription throws `AccelError` (timed
    /// out) in place of the next window's segments.
    public var timeLimit: Duration?

    /// Options of a transcription; the limits are those of OpenAI's Whisper.
    public init(task: Task = .transcribe, language: String? = nil) { (self.task, self.language) = (task, language) }

    /// - Throws: `AccelError` (invalid) for numbers without a meaning.
    func check() throws(AccelError) {
        guard !temperatures.isEmpty, temperatures.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
            throw AccelError(
                .invalid, expected: "one or more temperatures of 0 or more", found: "\(temperatures)",
                at: "options of a transcription")
        }
    }

    /// - Throws: `AccelError`: (unsupported) for a translation, (invalid) for a language; the model writes what it hears.
    func checkPlain(_ path: String) throws(AccelError) {
        guard task == .transcribe else {
            throw AccelError(.unsupported, "the model writes what it hears, and does not translate", at: path)
        }
        if let language {
            throw AccelError(
                .invalid, expected: "no language, because the model does not take one", found: language, at: path)
        }
    }
}
