import Accel
import AccelAudio
import AccelByteIO
import TestSupport
import Testing

/// Models that read each other's results.
@Suite("Pipelines of models")
struct PipelineTests {
    private static let packages = SharedFolder { folder in
        try EnergyDetector.write(to: "\(folder)/energy", isDeaf: false)
        for (name, source) in [
            ("whisper", Fixtures.path("speech/whisper")), ("llama", Fixtures.path("text/llama")), ("vad", "energy"),
        ] {
            try CommandRunner.succeed(
                ["convert", source, "--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache"],
                in: folder)
        }
    }

    private func model(_ name: String) async throws -> AccelModel {
        try await AccelModel(.path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
    }

    /// Talk twice, with silence around it, in pieces of a second; each is counted when it is asked for.
    private func pieces(_ asked: Locked<Int>) throws -> AsyncStream<Sound> {
        let talk = try Sound(contentsOf: Fixtures.path("speech/talk.wav")).mono.resampled(to: 16_000).samples
        let silence = [Float](repeating: 0, count: 32_000)
        let samples = silence + talk + silence + talk + silence
        let starts = Array(stride(from: 0, to: samples.count, by: 16_000))
        return AsyncStream<Sound> {
            let index = asked.withLock { index in
                defer { index += 1 }
                return index
            }
            guard index < starts.count else { return nil }
            let end = min(starts[index] + 16_000, samples.count)
            return try? Sound(samples: Array(samples[starts[index]..<end]), sampleRate: 16_000)
        }
    }

    @Test("speech is found, transcribed and answered, and no piece is asked for before it is needed")
    func questions() async throws {
        let (detector, recognizer, writer) = (
            try await model("vad"), try await model("whisper"), try await model("llama")
        )
        let asked = Locked(0)
        let session = try writer.makeSession()
        var answers: [(question: String, text: String, asked: Int)] = []
        for try await question in try recognizer.transcribe(live: try pieces(asked), by: detector) {
            var text = ""
            for try await piece in try session.generate(prompt: question.text, GenerationOptions(maxTokens: 4)) {
                text += piece
            }
            answers.append((question.text, text, asked.withLock { $0 }))
        }
        let whole = asked.withLock { $0 }
        #expect(answers.count >= 2 && answers.allSatisfy { !$0.question.isEmpty })
        // The first answer was there before the second talk began.
        #expect(try #require(answers.first).asked < whole - 4, "\(answers.map(\.asked)) of \(whole)")
    }

    @Test("the end of a task ends all steps, and the models go on working")
    func cancelled() async throws {
        let recognizer = try await model("whisper")
        let asked = Locked(0)
        let transcription = try recognizer.transcribe(live: try pieces(asked))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in transcription {}
        }
        let result = await task.result
        // A source that ends when its task does, or a recognizer that is cancelled.
        if case .failure(let error) = result { #expect((error as? AccelError)?.code == .cancelled) }
        #expect(asked.withLock { $0 } <= 1)
        var found: [TranscriptionSegment] = []
        for try await segment in try recognizer.transcribe(live: try pieces(Locked(0))) { found.append(segment) }
        #expect(!found.isEmpty)
    }
}
