import Accel
import AccelAudio
import AccelByteIO
import TestSupport
import Testing

/// Transcripts of a tiny wav2vec 2.0: those of transformers (scripts/fixtures_characters.py).
@Suite("Speech by the characters of frames")
struct CharacterSpeechTests {
    private static let folder = Fixtures.path("characters")
    private static let packages = SharedFolder { folder in
        try CommandRunner.succeed(
            [
                "convert", Self.folder, "--shape", "batch=1,samples=8000", "--shape", "batch=1,samples=16000",
                "--compress", "float32", "-o",
                "\(folder)/characters.accelpkg", "--no-cache",
            ], in: folder)
    }

    private func model() async throws -> AccelModel {
        try await AccelModel(.path("\(try Self.packages.path)/characters.accelpkg"), configuration: .reproducible)
    }

    private func segments(
        _ sound: Sound, _ options: TranscriptionOptions = TranscriptionOptions()
    ) async throws -> [TranscriptionSegment] {
        var found: [TranscriptionSegment] = []
        for try await segment in try await model().transcribe(sound, options) { found.append(segment) }
        return found
    }

    @Test("the text of one window, and of windows that overlap, is that of transformers")
    func texts() async throws {
        let expected = JSONField(try JSON.read("\(Self.folder)/texts.json"), file: "texts.json")
        let sound = try Sound(contentsOf: "\(Self.folder)/sound.wav")
        let second = try Sound(samples: Array(sound.samples[..<16_000]), sampleRate: 16_000)
        for (sound, name) in [(second, "first"), (sound, "whole")] {
            let found = try await segments(sound)
            let words = found.flatMap(\.words)
            #expect(try found.map(\.text).joined() == expected[name].string())
            #expect(words.map(\.text).joined() == found.map(\.text).joined())
            for (word, next) in zip(words, words.dropFirst()) { #expect(word.end <= next.start + 1e-9) }
            #expect(words.allSatisfy { $0.start < $0.end && $0.end <= sound.duration + 0.02 && $0.probability <= 1 })
        }
    }

    @Test("parts with speech have the times of the sound, and a sound that goes on those of its windows")
    func times() async throws {
        let sound = try Sound(contentsOf: "\(Self.folder)/sound.wav")
        let silence = [Float](repeating: 0, count: 32_000)
        let long = try Sound(samples: silence + sound.samples, sampleRate: 16_000)
        var options = TranscriptionOptions()
        options.spoken = [2...long.duration]
        let (alone, part) = (try await segments(sound), try await segments(long, options))
        #expect(alone.map(\.text) == part.map(\.text))
        for (left, right) in zip(alone, part) { #expect(abs(left.start + 2 - right.start) < 1e-6) }
        #expect(try await segments(try Sound(samples: [], sampleRate: 16_000)).isEmpty)
        let pieces = AsyncStream<Sound> { stream in
            stream.yield(long)
            stream.finish()
        }
        let live = try await model().transcribe(live: pieces)
        var found: [TranscriptionSegment] = []
        for try await segment in live { found.append(segment) }
        #expect(try #require(found.first).start > 1.7 && live.secondsWithoutSpeech > 1.7 && live.language == nil)
    }

    @Test("a translation and a language are rejected, and so is a package without the characters")
    func rejected() async throws {
        let sound = try Sound(contentsOf: "\(Self.folder)/sound.wav")
        let translation = await #expect(throws: AccelError.self) {
            try await segments(sound, TranscriptionOptions(task: .translate))
        }
        #expect(translation?.code == .unsupported)
        let language = await #expect(throws: AccelError.self) {
            try await segments(sound, TranscriptionOptions(language: "en"))
        }
        #expect(language?.code == .invalid)
        try withTemporaryFolder { folder in
            try CommandRunner.succeed(
                [
                    "convert", Fixtures.path("hubert_stable"), "--shape", "batch=1,samples=4000", "--compress",
                    "float32", "-o",
                    "bare.accelpkg", "--no-cache",
                ], in: folder)
            let result = try CommandRunner.run(
                ["run", "bare.accelpkg", "--audio", "\(Self.folder)/sound.wav"], in: folder)
            #expect(result.status != 0 && result.errors.contains("no vocab.json"), "\(result.errors)")
        }
    }

    @Test("the tool prints lines and words with times")
    func tool() throws {
        let expected = JSONField(try JSON.read("\(Self.folder)/texts.json"), file: "texts.json")
        let package = "\(try Self.packages.path)/characters.accelpkg"
        try withTemporaryFolder { folder in
            let audio = ["run", package, "--audio", "\(Self.folder)/sound.wav"]
            let lines = try CommandRunner.run(audio, in: folder)
            let text = try expected["whole"].string()
            #expect(lines.status == 0 && lines.output.split(separator: "\n").joined(separator: " ") == text)
            let words = try CommandRunner.run(audio + ["--format", "words", "-q"], in: folder)
            let names = words.output.split(separator: "\n").compactMap { $0.split(separator: "\t").last }
            #expect(names.joined(separator: " ") == text && words.errors.isEmpty)
        }
    }
}
