public import AccelAudio
import AccelByteIO
import AccelPrograms

/// How a text is spoken.
public struct SpeakingOptions: Sendable {
    /// Durations are divided by it: 2 is twice as fast.
    public var speed = 1.0
    /// The seed of the noise in consonants and breath.
    public var seed: UInt64 = 0
    /// The time for the whole speech; nil for no limit.
    public var timeLimit: Duration?

    /// The options of the original model.
    public init() {}

    /// - Throws: `AccelError` (invalid) for a speed without a meaning.
    func check() throws(AccelError) {
        guard 0.1...10 ~= speed else {
            throw AccelError(.invalid, expected: "a speed from 0.1 to 10", found: "\(speed)", at: "options of speech")
        }
    }
}

extension AccelModel {
    /// Speaks phonemes, by a model such as Kokoro.
    ///
    ///     let sound = try await model.speak("həlˈoʊ wˈɜːld", voice: try Voice(contentsOf: "af_heart.safetensors"))
    ///     let file = try sound.wave()
    ///
    /// The package needs functions of the parts text_encoder, prosody, decoder_pre_bucket, har_source and
    /// generator_bucket. For each part the shortest one runs that is long enough; the result does not depend on its length,
    /// except for the last hundredth of a second.
    /// - Parameter phonemes: one symbol after the other, of those in the model's configuration.
    /// - Returns: the sound at the model's rate, one channel.
    /// - Throws: `AccelError`: (unsupported) for a model that does not speak, or a package without some of the parts; (invalid) for
    ///   unknown symbols, for a text or a speech that is too long, and for a voice of another model; (cancelled); (timed out) once
    ///   the time limit is over; and the backend's.
    public func speak(
        _ phonemes: String, voice: Voice, _ options: SpeakingOptions = SpeakingOptions()
    ) async throws(AccelError) -> Sound {
        try options.check()
        let speaker = try Speaker(self)
        let style = try voice.style(phonemes: phonemes.unicodeScalars.count)
        let text = try speaker.text(of: phonemes)
        let deadline = Deadline.started(after: options.timeLimit)
        return try await speaker.speak(text, style, speed: options.speed, until: deadline) { port in
            port.role.kind == .noise ? port.noise(seed: options.seed) : nil
        }
    }
}
