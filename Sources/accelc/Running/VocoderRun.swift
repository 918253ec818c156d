import Accel
import AccelAudio
import AccelByteIO
import AccelConversion
import AccelFrontEnds

/// The option of a run that speaks by a language model.
enum VocoderOptions {
    static let vocoder = Option(
        "vocoder", .input("MODEL"), in: .input,
        "speak the prompt, by a language model such as Orpheus. MODEL makes sound of the codes that it writes, such as SNAC. The "
            + "prompt begins with the name of a voice, as in \"tara: Hello.\"",
        excludes: ["messages", "chat", "system", "raw", "stop-token"], needs: [.option("prompt")],
        takes: PathKind.models)
}

/// A run that speaks a prompt to a file, by a language model that writes codes.
struct VocoderRun {
    private let path, prompt, output: String
    private let options: CodeSpeakingOptions

    /// Reads the options, before a model is converted; nil for another run.
    init?(_ arguments: Arguments) throws {
        guard let path = arguments[VocoderOptions.vocoder] else { return nil }
        self.path = path
        output = try arguments.required(PhonemeOptions.output)
        prompt = try arguments.required(TextOptions.prompt)
        var options = CodeSpeakingOptions(seed: UInt64(arguments.integer(TextOptions.seed) ?? 0))
        options.generation = TextOptions.generation(
            .orpheus, maxTokens: arguments.integer(RunCommand.generate) ?? CodeSpeakingOptions.defaultTokenCount,
            stopTokens: nil, arguments)
        self.options = options
    }

    func run(_ model: AccelModel, _ arguments: Arguments, _ console: Console) throws {
        // Its package stays in the cache as long as this exists.
        let runnable = try RunnablePackage(of: path, arguments, console) { $0.takesAllUsualShapes = true }
        if !runnable.isChecked { try console.check(runnable.package, includesReport: false) }
        let vocoder = try RunCommand.model(runnable.package, arguments, console)
        let text = try prompt == "-" ? StandardInput.text() : prompt
        let start = ContinuousClock.now
        let stream = try model.speak(text: text, through: vocoder, options)
        var samples: [Float] = []
        let progress = console.progress("speaking")
        while let piece = try next(of: stream) {
            samples += piece.samples
            let seconds = Double(stream.samplesDone) / Double(stream.sampleRate)
            progress.step("\(Text.decimals(seconds, 1)) s of sound")
        }
        progress.finish()
        guard !samples.isEmpty, let summary = stream.summary else {
            throw RequestError("the model ends the speech before its first frame", status: .unavailable)
        }
        let sound = try Sound(samples: samples, sampleRate: stream.sampleRate)
        try AtomicFile.write(try sound.wave(software: OutputKind.maker), to: output, as: .sound)
        let seconds = start.secondsToNow
        withExtendedLifetime(runnable) {}
        switch summary.reason {
        case .maxTokens:
            console.warning(
                "the speech ends after \(Wording.count(summary.generatedTokens, "token")); --generate allows more")
        case .cacheFull: console.warning("the cache is full, so that the speech ends here")
        default: break
        }
        guard !arguments.has(CommonOptions.json) else {
            console.print([
                "sound": .string(output), "sample_rate": .int(sound.sampleRate), "samples": .int(sound.frameCount),
                "speech_ms": .number((seconds * 1e6).rounded() / 1000), "tokens": .int(summary.generatedTokens),
                "ended_by": .string("\(summary.reason)"), "peak_memory_bytes": .int(Timing.processPeak),
            ])
            return
        }
        console.summary(
            "\(output): \(Text.decimals(sound.duration, 1)) s of sound in \(Text.decimals(seconds, 1)) s, "
                + "\(sound.sampleRate) Hz")
        console.note(
            "\(Wording.count(summary.generatedTokens, "token")), \(Text.decimals(summary.tokensPerSecond, 1)) per second; "
                + "peak memory \(Wording.bytes(Timing.processPeak))")
    }

    private func next(of stream: SpeechStream) throws -> Sound? {
        try waiting {
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
    }
}
