import AccelAudio
import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import Accel

/// Speech of a tiny language model that writes codes (`CodeWriter`), by tiny SNAC models of the original framework
/// (scripts/fixtures_audio.py).
@Suite("Speech by codes")
struct CodeSpeechTests {
    /// Of the speech that the language model writes.
    private static let frames = 13
    private static let seed: UInt64 = 5

    private static let packages = SharedFolder { folder in
        try CodeWriter.write(to: "\(folder)/writer", frames: frames)
        try CodeWriter.write(to: "\(folder)/stray", frames: frames, strays: true)
        let snac = Fixtures.path("snac_chunks")
        func shapes(_ frames: Int...) -> [String] { frames.flatMap { ["--shape", "batch=1,frames=\($0)"] } }
        for (name, model, words) in [
            ("whole", snac, shapes(5, 6, 8, 13, 17)), ("seven", snac, shapes(7)), ("both", snac, shapes(7, 12)),
            ("quiet", snac, ["--part", "decoder_zero_noise"] + shapes(12)), ("short", snac, shapes(6)),
            ("two", snac, ["--shape", "batch=2,frames=12"]), ("windows", Fixtures.path("snac_windows"), shapes(20)),
            ("plain", Fixtures.path("snac_plain"), shapes(30)), ("llama", Fixtures.path("text/llama"), []),
            ("llm", "writer", []), ("llm-stray", "stray", []),
        ] {
            try CommandRunner.succeed(
                ["convert", model, "--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache"] + words,
                in: folder)
        }
    }

    private func model(_ name: String) async throws -> AccelModel {
        try await AccelModel(.path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
    }

    /// The frames of codes that the language model writes, as far as they are asked for.
    private func written(_ count: Int) throws -> [CodeFrame] {
        var reader = try CodeFrameReader(
            CodeTokens(
                first: CodeWriter.custom(10), codebookSize: CodeWriter.codebookSize, slots: CodeTokens.orpheus.slots,
                before: [], after: [], end: CodeWriter.custom(2)))
        return try CodeWriter.tokens(frames: count).compactMap { try reader.append($0) }
    }

    /// The samples of all frames at once, by a function of their number.
    private func whole(_ frames: [CodeFrame], seed: UInt64 = seed) async throws -> [Float] {
        let function = try await model("whole").function("decoder", shape: ["frames": frames.count])
        var inputs: AccelFunction.Inputs = [:]
        for port in function.description.inputs {
            if let book = Int(port.name.dropFirst("codes.".count)), port.name.hasPrefix("codes.") {
                inputs[port.name] = try AccelTensor(frames.flatMap { $0.codes[book] }).reshaped(port.shape)
            } else {
                inputs[port.name] = try AccelTensor(port.noise(seed: seed)).reshaped(port.shape)
            }
        }
        return try await function(inputs)["audio"].array(of: Float.self)
    }

    /// The samples in the pieces of a vocoder, to which frames come `step` at a time.
    private func pieces(
        of frames: [CodeFrame], by name: String, step: Int, seed: UInt64 = seed
    ) async throws -> [[Float]] {
        var vocoder = try CodeVocoder(try await model(name), seed: seed)
        var pieces: [[Float]] = []
        for start in stride(from: 0, to: frames.count, by: step) {
            try vocoder.append(Array(frames[start..<min(start + step, frames.count)]))
            while let piece = try await vocoder.next() { pieces.append(piece.samples) }
        }
        vocoder.finish()
        while let piece = try await vocoder.next() { pieces.append(piece.samples) }
        return pieces
    }

    /// The framework's own float32 noise of the fixture is 3.5e-6.
    private func expectEqual(_ found: some Collection<Float>, _ expected: some Collection<Float>) {
        #expect(found.count == expected.count)
        let largest = zip(found, expected).map { abs($0 - $1) }.max() ?? 0
        #expect(largest < 2e-5, "\(largest)")
    }

    @Test("pieces join to the sound of all frames at once", arguments: ["seven", "both"], [6, 8, 13, 17])
    func exact(_ name: String, _ count: Int) async throws {
        let frames = try written(count)
        let expected = try await whole(frames)
        #expect(expected.count == 2048 * count && expected.contains { abs($0) > 0.05 })
        for step in [1, 3, count] {
            let pieces = try await pieces(of: frames, by: name, step: step)
            #expect(pieces.count > 1 && pieces.allSatisfy { $0.count % 2048 == 0 })
            expectEqual(pieces.joined(), expected)
        }
        // Noise at other positions is other noise.
        let other = try await pieces(of: frames, by: name, step: 1, seed: 6).joined()
        #expect(zip(other, expected).contains { abs($0 - $1) > 1e-3 })
    }

    @Test("of less than half a second the frames that reach both ends differ, where no function has its length")
    func short() async throws {
        let frames = try written(5)
        let expected = try await whole(frames)
        let found = Array(try await pieces(of: frames, by: "both", step: 1).joined())
        #expect(found.count == expected.count)
        expectEqual(found[..<(2 * 2048)], expected[..<(2 * 2048)])
        expectEqual(found[(3 * 2048)...], expected[(3 * 2048)...])
        expectEqual(try await pieces(of: frames, by: "whole", step: 5).joined(), expected)
    }

    @Test("frames that do not fit, frames after the end, and models that are no vocoder of frames are rejected")
    func rejected() async throws {
        var vocoder = try CodeVocoder(try await model("both"))
        #expect(vocoder.sampleRate == 24_000 && vocoder.samplesPerFrame == 2048)
        #expect(vocoder.codesPerFrame == [1, 2, 4] && vocoder.codebookSize == CodeWriter.codebookSize)
        for codes in [
            [[0], [0, 0]], [[0], [0, 0], [0, 0, 0]], [[19], [0, 0], [0, 0, 0, 0]], [[0], [0, -1], [0, 0, 0, 0]],
        ] as [[[Int64]]] {
            let error = #expect(throws: AccelError.self) {
                try vocoder.append([CodeFrame([[0], [0, 0], [0, 0, 0, 0]]), CodeFrame(codes)])
            }
            #expect(error?.code == .invalid && error?.location == "codes of speech, frame 1")
        }
        vocoder.finish()
        #expect(try await vocoder.next() == nil)
        #expect(throws: AccelError.self) { try vocoder.append(try written(1)) }
        for name in ["llama", "short", "two", "windows"] {
            let model = try await model(name)
            let error = #expect(throws: AccelError.self) { try CodeVocoder(model) }
            #expect(error?.code == .unsupported, "\(name): \(String(describing: error))")
        }
        let quiet = try await pieces(of: try written(9), by: "quiet", step: 9)
        #expect(quiet.joined().count == 9 * 2048)
    }

    @Test("a text is spoken in pieces while tokens are generated, and the pieces are the sound of its codes")
    func spoken() async throws {
        let vocoder = try await model("both")
        let expected = try await whole(try written(Self.frames))
        for name in ["llm", "llm-stray"] {
            let stream = try await model(name).speak(
                text: "Hello.", voice: "tara", through: vocoder, CodeSpeakingOptions(seed: Self.seed))
            #expect(stream.sampleRate == 24_000 && stream.summary == nil)
            var samples: [Float] = []
            for try await piece in stream {
                // A run of seven frames has four frames of sound. No later token has been asked for.
                if samples.isEmpty { #expect(piece.frameCount == 4 * 2048 && stream.summary == nil) }
                samples += piece.samples
                #expect(stream.samplesDone == samples.count)
            }
            expectEqual(samples, expected)
            let summary = try #require(stream.summary)
            #expect(summary.reason == .stopToken && summary.generatedTokens == 7 * Self.frames + 1)
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("the number of tokens ends a speech after its last whole frame, and another iteration goes on")
    func limited() async throws {
        var options = CodeSpeakingOptions(seed: Self.seed)
        options.generation.maxTokens = 8 * 7 + 3
        let stream = try await model("llm").speak(text: "Hello.", through: try await model("both"), options)
        var samples: [Float] = []
        for try await piece in stream {
            samples += piece.samples
            break
        }
        for try await piece in stream { samples += piece.samples }
        expectEqual(samples, try await whole(try written(8)))
        #expect(stream.summary?.reason == .maxTokens)
        options.generation.timeLimit = .zero
        let late = try await model("llm").speak(text: "Hello.", through: try await model("both"), options)
        for try await _ in late {}
        #expect(late.summary?.reason == .timedOut && late.samplesDone == 0)
    }

    @Test("the end of a task ends its speech, and the models go on working")
    func cancelled() async throws {
        let (writer, vocoder) = (try await model("llm"), try await model("both"))
        let stream = try writer.speak(text: "Hello.", through: vocoder)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in stream {}
        }
        let error = await #expect(throws: AccelError.self) { try await task.value }
        #expect(error?.code == .cancelled && stream.summary?.reason == .cancelled)
        var count = 0
        for try await piece in try writer.speak(text: "Hello.", through: vocoder) { count += piece.frameCount }
        #expect(count == Self.frames * 2048)
        // A vocoder that was cancelled makes the same piece again.
        var decoder = try CodeVocoder(vocoder, seed: Self.seed)
        try decoder.append(try written(Self.frames))
        decoder.finish()
        let waiting = decoder
        let ended = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var waiting = waiting
            return try await waiting.next()
        }
        let end = await #expect(throws: AccelError.self) { try await ended.value }
        #expect(end?.code == .cancelled)
        var samples: [Float] = []
        while let piece = try await decoder.next() { samples += piece.samples }
        expectEqual(samples, try await whole(try written(Self.frames)))
    }

    @Test("models that do not fit each other, and options without a meaning, are rejected with their reason")
    func misfits() async throws {
        func error(
            _ writer: String, _ vocoder: String, _ change: (inout CodeSpeakingOptions) -> Void = { _ in }
        ) async throws -> AccelError? {
            var options = CodeSpeakingOptions()
            change(&options)
            let (speaker, codec, chosen) = (try await model(writer), try await model(vocoder), options)
            return #expect(throws: AccelError.self) { try speaker.speak(text: "a", through: codec, chosen) }
        }
        #expect(try await error("llm", "llm")?.code == .unsupported)
        #expect(try await error("both", "both")?.code == .unsupported)
        let unnamed = try await error("llama", "both")
        #expect(unnamed?.code == .unsupported && unnamed?.problem.contains("<custom_token_10>") == true)
        #expect(try await error("llm", "plain")?.code == .invalid)
        #expect(try await error("llm", "both") { $0.tokens = .orpheus }?.code == .invalid)
        #expect(try await error("llm", "both") { $0.generation.repetitionPenalty = 0 }?.code == .invalid)
        let tokens = CodeTokens(
            first: 500, codebookSize: 19, slots: CodeTokens.orpheus.slots, before: [], after: [], end: 2)
        #expect(try await error("llm", "both") { $0.tokens = tokens }?.code == .unsupported)
    }

    @Test("the tool writes a WAVE file, by packages or by models that it converts first")
    func tool() throws {
        let packages = try Self.packages.path
        try withTemporaryFolder { folder in
            let words = ["--prompt", "tara: Hello.", "--audio-output", "out.wav", "--vocoder"]
            let snac = "\(packages)/both.accelpkg"
            let result = try CommandRunner.run(["run", "\(packages)/llm.accelpkg"] + words + [snac], in: folder)
            #expect(result.status == 0 && result.output.hasPrefix("out.wav: 1.1 s of sound in "), "\(result.errors)")
            let sound = try Sound(contentsOf: "\(folder)/out.wav")
            #expect(sound.sampleRate == 24_000 && sound.frameCount == 2048 * Self.frames)
            let again = try CommandRunner.run(
                ["run", "\(packages)/llm.accelpkg", "--json", "--seed", "3"] + words + [snac], in: folder)
            #expect(again.status == 0 && again.output.contains(#""ended_by": "stop token""#), "\(again.errors)")
            #expect(again.output.contains(#""samples": 26624"#) && again.output.contains(#""tokens": 92"#))
            #expect(try Sound(contentsOf: "\(folder)/out.wav") != sound)
            let limited = try CommandRunner.run(
                ["run", "\(packages)/llm.accelpkg", "--generate", "49"] + words + [snac], in: folder)
            #expect(limited.status == 0 && limited.errors.contains("--generate allows more"), "\(limited.errors)")
            #expect(try Sound(contentsOf: "\(folder)/out.wav").frameCount == 2048 * 7)
            let models = try CommandRunner.run(
                ["run", "\(packages)/writer", "--cache", "\(folder)/cache"] + words + [Fixtures.path("snac_chunks")],
                in: folder)
            #expect(models.status == 0, "\(models.errors)")
            #expect(try Sound(contentsOf: "\(folder)/out.wav").frameCount == 2048 * Self.frames)
            for wrong in [
                ["--prompt", "a", "--vocoder", snac], ["--prompt", "a", "--audio-output", "o.wav"],
                ["--audio-output", "o.wav", "--vocoder", snac], words + [snac, "--raw"],
            ] {
                let result = try CommandRunner.run(["run", "\(packages)/llm.accelpkg"] + wrong, in: folder)
                #expect(result.status == 2, "\(wrong): \(result.errors)")
            }
            let misfit = try CommandRunner.run(
                ["run", "\(packages)/llama.accelpkg"] + words + [snac], in: folder)
            #expect(misfit.status == 3 && misfit.errors.contains("<custom_token_10>"))
        }
    }
}
