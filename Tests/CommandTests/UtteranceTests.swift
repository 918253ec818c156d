import Accel
import AccelAudio
import AccelByteIO
import TestSupport
import Testing

/// Transcripts of a tiny Moonshine: those of transformers (scripts/fixtures_moonshine.py).
@Suite("Speech by a decoder without times")
struct UtteranceTests {
    private static let folder = Fixtures.path("utterances")
    /// The samples of the longest sound that the package takes at once.
    private static let longest = 48_000
    private static let packages = SharedFolder { folder in
        let shapes = ["batch=1,samples=24000", "batch=1,samples=\(longest)", "cache=32,tokens=4", "cache=32,tokens=1"]
        try CommandRunner.succeed(
            ["convert", Self.folder] + shapes.flatMap { ["--shape", $0] }
                + ["--compress", "float32", "-o", "\(folder)/utterances.accelpkg", "--no-cache"], in: folder)
        try CommandRunner.succeed(
            [
                "convert", Self.folder, "--part", "encoder", "--shape", "batch=1,samples=24000", "-o",
                "\(folder)/encoder.accelpkg", "--no-cache",
            ], in: folder)
    }

    private func model(_ name: String = "utterances") async throws -> AccelModel {
        try await AccelModel(.path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
    }

    private func segments(
        _ sound: Sound, _ options: TranscriptionOptions = TranscriptionOptions(), by model: AccelModel
    ) async throws -> [TranscriptionSegment] {
        var found: [TranscriptionSegment] = []
        for try await segment in try model.transcribe(sound, options) { found.append(segment) }
        return found
    }

    private func sound() throws -> Sound { try Sound(contentsOf: "\(Self.folder)/sound.wav") }

    private func expected() throws -> JSONField {
        JSONField(try JSON.read("\(Self.folder)/texts.json"), file: "texts.json")
    }

    @Test("a text that ends by itself, and one that its length ends, are those of transformers")
    func texts() async throws {
        let (model, whole, expected) = (try await model(), try sound(), try expected())
        let beginning = try Sound(samples: Array(whole.samples[..<23_200]), sampleRate: 16_000)
        for (sound, name) in [(beginning, "beginning"), (whole, "whole")] {
            let found = try await segments(sound, by: model)
            #expect(found.count == 1)
            let segment = try #require(found.first)
            #expect(try segment.text == expected[name]["text"].string())
            let tokens = try expected[name]["tokens"].array().map { Int64(try $0.int()) }
            #expect(segment.tokens == tokens.filter { $0 != 2 })
            #expect(segment.start == 0 && segment.end == sound.duration && segment.temperature == 0)
            #expect(segment.meanLogProbability < 0 && segment.words.isEmpty)
        }
    }

    @Test("a long sound is cut in its longest pauses, and each window has the text that it has alone")
    func windows() async throws {
        let (model, talk) = (try await model(), try sound().samples)
        let silence = [Float](repeating: 0, count: 8000)
        let sound = try Sound(samples: talk + silence + talk + silence + talk, sampleRate: 16_000)
        let found = try await segments(sound, by: model)
        #expect(found.count >= 2)
        for (segment, next) in zip(found, found.dropFirst()) { #expect(segment.end <= next.start + 1e-9) }
        for (index, segment) in found.enumerated() {
            let range = Int((segment.start * 16_000).rounded())..<Int((segment.end * 16_000).rounded())
            #expect(range.count <= Self.longest)
            let alone = try await segments(
                try Sound(samples: Array(sound.samples[range]), sampleRate: 16_000), by: model)
            #expect(alone.map(\.tokens) == [segment.tokens])
            #expect(alone.first?.text.drop(while: \.isWhitespace) == segment.text.drop(while: \.isWhitespace))
            #expect(index == 0 || segment.text.first?.isWhitespace == true)
        }
    }

    @Test("parts with speech have the times of the sound, and a sound that goes on those of its windows")
    func times() async throws {
        let (model, talk) = (try await model(), try sound())
        let silence = [Float](repeating: 0, count: 32_000)
        let long = try Sound(samples: silence + talk.samples + silence, sampleRate: 16_000)
        var options = TranscriptionOptions()
        options.spoken = [2...2 + talk.duration]
        let (alone, part) = (try await segments(talk, by: model), try await segments(long, options, by: model))
        #expect(alone.map(\.tokens) == part.map(\.tokens))
        for (left, right) in zip(alone, part) {
            #expect(abs(left.start + 2 - right.start) < 1e-6 && abs(left.end + 2 - right.end) < 1e-6)
        }
        for none in [[], [Float](repeating: 0, count: 800)] {
            #expect(try await segments(try Sound(samples: none, sampleRate: 16_000), by: model).isEmpty)
        }
        let pieces = AsyncStream<Sound> { stream in
            stream.yield(long)
            stream.finish()
        }
        let live = try model.transcribe(live: pieces)
        var found: [TranscriptionSegment] = []
        for try await segment in live { found.append(segment) }
        #expect(try #require(found.first).start > 1.7 && live.secondsWithoutSpeech > 1.7 && live.language == nil)
    }

    @Test("a translation, a language, times of words and a package without a decoder are rejected")
    func rejected() async throws {
        let (model, sound) = (try await model(), try sound())
        var words = TranscriptionOptions()
        words.findsWordTimes = true
        for (options, code) in [
            (TranscriptionOptions(task: .translate), AccelError.Code.unsupported),
            (TranscriptionOptions(language: "en"), .invalid), (words, .unsupported),
        ] {
            let error = await #expect(throws: AccelError.self) { try await segments(sound, options, by: model) }
            #expect(error?.code == code)
        }
        let encoder = try await self.model("encoder")
        let error = await #expect(throws: AccelError.self) { try await segments(sound, by: encoder) }
        #expect(error?.code == .unsupported && "\(error?.description ?? "")".contains("no decoder reads"))
    }

    @Test("the tool prints the text, by a package and by the model itself")
    func tool() throws {
        let text = try expected()["whole"]["text"].string()
        try withTemporaryFolder { folder in
            for words in [["\(try Self.packages.path)/utterances.accelpkg"], [Self.folder, "--compress", "float32"]] {
                let result = try CommandRunner.run(
                    ["run"] + words + ["--audio", "\(Self.folder)/sound.wav"], in: folder)
                #expect(result.status == 0 && result.output == text + "\n", "\(result.output)\(result.errors)")
            }
        }
    }
}
