import Accel
import AccelAudio
import AccelByteIO

/// The options of a run that speaks.
enum PhonemeOptions {
    static let phonemes = Option(
        "phonemes", .text("TEXT"), in: .input,
        "speak phonemes, by a model such as Kokoro. Its config.json lists the symbols",
        excludes: ["inputs", "prompt", "messages", "chat", "text", "image", "audio"])
    static let voice = Option(
        "voice", .input("FILE"), in: .input,
        "the safetensors file of the voice. Its one tensor has a style for each number of phonemes",
        needs: [.option("phonemes")], takes: [.tensors])
    static let speed = Option(
        "speed", .decimal(0.1...10), in: .generation, "divide the durations of phonemes by X", default: "1",
        needs: [.option("phonemes")])
    static let output = Option(
        "audio-output", .output("FILE") { _ in .sound }, in: .output,
        "the WAVE file to write the speech to. Its samples have 16 bits",
        needs: [.option("phonemes"), .option("vocoder")])

    static let all = [phonemes, voice, speed, output]
}

/// A run that speaks phonemes to a file.
struct PhonemeRun {
    private let text, output: String
    private let voice: Voice
    private let options: SpeakingOptions

    /// Reads the voice, before a model is converted; nil for another run.
    init?(_ arguments: Arguments) throws {
        guard let text = arguments[PhonemeOptions.phonemes] else { return nil }
        self.text = text
        output = try arguments.required(PhonemeOptions.output)
        voice = try Voice(contentsOf: try arguments.required(PhonemeOptions.voice))
        var options = SpeakingOptions()
        options.speed = arguments[PhonemeOptions.speed].flatMap { Double($0) } ?? 1
        options.seed = UInt64(arguments.integer(TextOptions.seed) ?? 0)
        self.options = options
    }

    func run(_ model: AccelModel, _ arguments: Arguments, _ console: Console) throws {
        let start = ContinuousClock.now
        let sound = try waiting { try await model.speak(text, voice: voice, options) }
        let seconds = start.secondsToNow
        try AtomicFile.write(try sound.wave(software: OutputKind.maker), to: output, as: .sound)
        guard !arguments.has(CommonOptions.json) else {
            console.print([
                "sound": .string(output), "sample_rate": .int(sound.sampleRate), "samples": .int(sound.frameCount),
                "speech_ms": .number((seconds * 1e6).rounded() / 1000),
            ])
            return
        }
        console.summary(
            "\(output): \(Text.decimals(sound.duration, 1)) s of sound in \(Text.decimals(seconds, 1)) s, "
                + "\(sound.sampleRate) Hz")
    }
}

extension OutputKind {
    /// The name of this program in the sounds that it writes.
    static let maker = "accelc"

    /// A WAVE file of 16-bit samples that names this program.
    static let sound = OutputKind.file("a sound", suffixes: [".wav"]) { path in
        let mark = ListChunk(software: maker).bytes
        let bytes = try MappedFile(path).bytes
        // After the header and the format.
        let place = 36
        guard bytes.count >= place + mark.count else { return "it is no sound of accelc" }
        let isOurs = bytes[0..<place + mark.count].withBytes { found in
            found.starts(with: "RIFF".utf8) && found[place...].elementsEqual(mark)
        }
        return isOurs ? nil : "it is no sound of accelc"
    }
}
