import Accel
import AccelAudio
import AccelByteIO
import TestSupport
import Testing

/// Transcripts of tiny Parakeets: those of transformers (scripts/fixtures_parakeet.py).
@Suite("Speech by pieces of words")
struct ParakeetSpeechTests {
    static let names = ["parakeet_pieces", "parakeet_tdt", "parakeet_rnnt"]
    private static let packages = SharedFolder { folder in
        for name in names {
            try CommandRunner.succeed(
                [
                    "convert", Fixtures.path(name), "--shape", "batch=1,frames=100", "--shape", "batch=1,frames=160",
                    "--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache",
                ], in: folder)
        }
    }

    private func segments(_ name: String, _ sound: Sound) async throws -> [TranscriptionSegment] {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
        var found: [TranscriptionSegment] = []
        for try await segment in try model.transcribe(sound) { found.append(segment) }
        return found
    }

    @Test(
        "the texts of a window, of a shorter sound in a window, and of windows that overlap are those of transformers",
        arguments: names)
    func texts(name: String) async throws {
        let expected = JSONField(try JSON.read("\(Fixtures.path(name))/texts.json"), file: "texts.json")
        let sound = try Sound(contentsOf: "\(Fixtures.path("characters"))/sound.wav")
        for (count, text) in [(25_600, "first"), (16_000, "short"), (sound.samples.count, "whole")] {
            let part = try Sound(samples: Array(sound.samples[..<count]), sampleRate: 16_000)
            let found = try await segments(name, part)
            let words = found.flatMap(\.words)
            #expect(try found.map(\.text).joined() == expected[text].string(), "\(text)")
            #expect(words.map(\.text).joined() == found.map(\.text).joined())
            for (word, next) in zip(words, words.dropFirst()) { #expect(word.start <= next.start) }
            #expect(words.allSatisfy { $0.start < $0.end && $0.probability <= 1 })
        }
    }

    @Test("a part of a sound that has no samples, and one shorter than a frame, have no text", arguments: names)
    func short(name: String) async throws {
        for count in [0, 100] {
            let sound = try Sound(samples: [Float](repeating: 0.1, count: count), sampleRate: 16_000)
            #expect(try await segments(name, sound).isEmpty)
        }
    }

    @Test("the tool prints the text", arguments: names)
    func tool(name: String) throws {
        let expected = JSONField(try JSON.read("\(Fixtures.path(name))/texts.json"), file: "texts.json")
        let package = "\(try Self.packages.path)/\(name).accelpkg"
        try withTemporaryFolder { folder in
            let sound = "\(Fixtures.path("characters"))/sound.wav"
            let result = try CommandRunner.run(["run", package, "--audio", sound, "--json"], in: folder)
            let document = JSONField(
                try JSON.parse(ByteView(Array(result.output.utf8)), file: "output"), file: "output")
            #expect(result.status == 0, "\(result.errors)")
            #expect(try document["text"].string() == expected["whole"].string())
        }
    }
}
