import AccelAudio
import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import Accel

/// Speech of a tiny Kokoro: that of the original framework (scripts/fixtures_audio.py).
@Suite("Runs on phonemes")
struct PhonemeRunTests {
    private static let fixture = Fixtures.path("phonemes_kokoro")
    private static let voice = "\(fixture)/voice.safetensors"
    /// Those of the golden text, which lasts 11 frames of 24 samples.
    private static let (phonemes, frames) = ("aʌ,fd", 11)

    private static let packages = SharedFolder { folder in
        for (name, words) in [
            ("exact", ["--part", "all", "--shape", "batch=1,sequence=7,asr_frames=11,frames=22"]),
            ("bucket", ["--part", "all", "--shape", "batch=1,sequence=12,asr_frames=60,frames=120"]),
            (
                "both",
                [
                    "--part", "all", "--shape", "batch=1,sequence=7,asr_frames=11,frames=22", "--shape",
                    "batch=1,sequence=12,asr_frames=60,frames=120",
                ]
            ),
            ("short", ["--part", "all", "--shape", "batch=1,sequence=7,asr_frames=10,frames=22"]),
            ("vocoder", ["--shape", "batch=1,asr_frames=11,frames=22"]),
        ] {
            try CommandRunner.succeed(
                ["convert", fixture, "--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache"] + words,
                in: folder)
        }
    }

    private static func model(_ name: String) async throws -> AccelModel {
        try await AccelModel(.path("\(try packages.path)/\(name).accelpkg"), configuration: .reproducible)
    }

    /// Speaks the golden text with the golden noise, which is 0 after its end.
    /// - Parameter withSource: also with the golden harmonics, some of whose angles are pi or -pi by chance of rounding.
    private func golden(_ package: String, withSource: Bool) async throws -> (found: Sound, expected: [Float]) {
        let golden = try SafetensorsFile("\(Self.fixture)/golden.safetensors")
        let speaker = try Speaker(try await Self.model(package))
        let text = try speaker.text(of: Self.phonemes)
        #expect(text == (try #require(golden["in.input_ids"])).integers())
        let noises = ["noise.0", "noise.1"].map { ($0, golden["in.\($0)"]?.floats() ?? []) }
        let noise = Dictionary(uniqueKeysWithValues: noises)
        let source = try #require(golden["in.har"])
        let (rows, count, harmonics) = (source.shape.dimensions[1], source.shape.dimensions[2], source.floats())
        let style = try Voice(contentsOf: Self.voice).style(phonemes: 5)
        #expect(style.sound == (try #require(golden["in.ref_s"])).floats())
        #expect(style.prosody == (try #require(golden["in.style"])).floats())
        let sound = try await speaker.speak(text, style, speed: 1) { port in
            if withSource, port.name == "har" {
                let rest = [Float](repeating: 9, count: port.shape.dimensions[2] - count)
                return (0..<rows).flatMap { harmonics[$0 * count..<($0 + 1) * count] + rest }
            }
            return noise[port.name].map { $0 + [Float](repeating: 0, count: port.shape.count - $0.count) }
        }
        return (sound, try #require(golden["out.speech"]).floats())
    }

    /// The energy of the expected sound by that of the difference, in decibels.
    private func ratio(_ found: [Float], _ expected: [Float]) -> Double {
        let energy = expected.reduce(0) { $0 + Double($1 * $1) }
        let error = zip(found, expected).reduce(1e-30) { $0 + Double(($1.0 - $1.1) * ($1.0 - $1.1)) }
        return 10 * log10(energy / error)
    }

    @Test(
        "speech is the framework's, in functions of its length or longer ones, but for angles by chance",
        arguments: ["exact", "both", "bucket"], [true, false])
    func speech(_ package: String, withSource: Bool) async throws {
        let (found, expected) = try await golden(package, withSource: withSource)
        #expect(found.sampleRate == 24_000 && found.channelCount == 1)
        #expect(found.samples.count == expected.count && expected.count == 24 * Self.frames)
        let ratio = ratio(found.samples, expected)
        #expect(ratio > (withSource ? 80 : 10), "\(ratio) dB")
    }

    @Test("speed divides durations, the seed decides about noise")
    func options() async throws {
        let (model, voice) = (try await Self.model("bucket"), try Voice(contentsOf: Self.voice))
        var options = SpeakingOptions()
        let plain = try await model.speak(Self.phonemes, voice: voice, options)
        #expect(plain.samples.count == 24 * Self.frames && plain.samples.contains { abs($0) > 0.01 })
        #expect(try await model.speak(Self.phonemes, voice: voice, options) == plain)
        options.seed = 7
        let other = try await model.speak(Self.phonemes, voice: voice, options)
        #expect(other != plain && other.frameCount == plain.frameCount)
        options.speed = 0.5
        let slow = try await model.speak(Self.phonemes, voice: voice, options)
        options.timeLimit = .zero
        let limited = options
        let late = await #expect(throws: AccelError.self) {
            try await model.speak(Self.phonemes, voice: voice, limited)
        }
        #expect(late?.code == .timedOut)
        #expect(slow.frameCount > plain.frameCount * 3 / 2)
    }

    @Test("what cannot be spoken is rejected with its reason")
    func rejected() async throws {
        let voice = try Voice(contentsOf: Self.voice)
        func error(_ package: String, _ text: String, speed: Double = 1) async throws -> AccelError? {
            let model = try await Self.model(package)
            var options = SpeakingOptions()
            options.speed = speed
            let chosen = options
            return await #expect(throws: AccelError.self) { try await model.speak(text, voice: voice, chosen) }
        }
        let unknown = try await error("exact", "a§b€§")
        #expect(unknown?.code == .invalid && unknown?.problem == #"the model knows no "§", "€""#)
        let vocoder = try await error("vocoder", "ab")
        #expect(vocoder?.code == .unsupported && vocoder?.problem.contains("text_encoder") == true)
        for (package, text, speed) in [
            ("exact", "", 1), ("exact", "abdefk", 1), ("exact", "§", 1), ("exact", "ab", 0),
            ("short", Self.phonemes, 1),
            ("exact", Self.phonemes, 0.2),
        ] as [(String, String, Double)] {
            #expect(try await error(package, text, speed: speed)?.code == .invalid, "\(package) \(text) \(speed)")
        }
        for path in ["\(Self.fixture)/golden.safetensors", "\(Self.fixture)/config.json"] {
            #expect(throws: AccelError.self) { try Voice(contentsOf: path) }
        }
        let wide = try Voice(StoredTensor(name: "voice", floats: [Float](repeating: 0, count: 20), shape: [2, 10]))
        let model = try await Self.model("exact")
        let misfit = await #expect(throws: AccelError.self) { try await model.speak("ab", voice: wide) }
        #expect(misfit?.code == .invalid)
    }

    @Test("the tool writes a WAVE file, of a package or of a model that it converts first")
    func tool() throws {
        try withTemporaryFolder { folder in
            let package = "\(try Self.packages.path)/bucket.accelpkg"
            let words = ["--phonemes", Self.phonemes, "--voice", Self.voice, "--audio-output", "out.wav"]
            let result = try CommandRunner.run(["run", package] + words, in: folder)
            #expect(result.status == 0 && result.output.hasPrefix("out.wav: 0.0 s of sound in "), "\(result.errors)")
            let sound = try Sound(contentsOf: "\(folder)/out.wav")
            #expect(sound.sampleRate == 24_000 && sound.frameCount == 24 * Self.frames)
            let again = try CommandRunner.run(["run", package] + words + ["--json", "--seed", "3"], in: folder)
            #expect(again.status == 0 && again.output.contains(#""samples": 264"#), "\(again.output)")
            #expect(try Sound(contentsOf: "\(folder)/out.wav") != sound)
            let model = try CommandRunner.run(
                ["run", Self.fixture, "--cache", "\(folder)/cache"] + words, in: folder)
            #expect(model.status == 0, "\(model.errors)")
            for missing in [Array(words.prefix(4)), ["--phonemes", "ab", "--audio-output", "o.wav"]] {
                let result = try CommandRunner.run(["run", package] + missing, in: folder)
                #expect(result.status == 2 && result.errors.contains("needs --"), "\(result.errors)")
            }
        }
    }
}
