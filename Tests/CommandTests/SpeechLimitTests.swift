import Accel
import AccelAudio
import AccelByteIO
import TestSupport
import Testing

/// The time limits and the progress of transcripts.
@Suite("Limits and progress of speech")
struct SpeechLimitTests {
    private static let packages = SharedFolder { folder in
        try EnergyDetector.write(to: "\(folder)/energy", isDeaf: false)
        let shape = ["--shape", "batch=1,samples=8000"]
        for (name, source, words) in [
            ("whisper", Fixtures.path("speech/whisper"), []), ("characters", Fixtures.path("characters"), shape),
            ("vad", "energy", []),
        ] {
            try CommandRunner.succeed(
                ["convert", source, "--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache"] + words,
                in: folder)
        }
    }

    private func model(_ name: String) async throws -> AccelModel {
        try await AccelModel(.path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
    }

    private func sound() throws -> Sound { try Sound(contentsOf: Fixtures.path("speech/talk.wav")) }

    @Test(
        "a time that is over ends a transcription by an error, each time; a long one changes nothing",
        arguments: ["whisper", "characters"])
    func timeLimit(_ name: String) async throws {
        let model = try await model(name)
        var options = TranscriptionOptions()
        options.timeLimit = .zero
        let late = try model.transcribe(try sound(), options)
        for _ in 0..<2 {
            let error = await #expect(throws: AccelError.self) {
                var iterator = late.makeAsyncIterator()
                return try await iterator.next()
            }
            #expect(error?.code == .timedOut)
        }
        #expect(late.secondsDone == 0)
        options.timeLimit = .seconds(3600)
        var (found, expected): ([TranscriptionSegment], [TranscriptionSegment]) = ([], [])
        for try await segment in try model.transcribe(try sound(), options) { found.append(segment) }
        for try await segment in try model.transcribe(try sound()) { expected.append(segment) }
        #expect(found == expected && !found.isEmpty)
    }

    @Test("a time that is over ends the search for speech, too")
    func detector() async throws {
        let detector = try await model("vad")
        var options = VoiceActivityOptions()
        options.timeLimit = .zero
        let (sound, limited) = (try sound(), options)
        let error = await #expect(throws: AccelError.self) { try await detector.speech(in: sound, limited) }
        #expect(error?.code == .timedOut)
        options.timeLimit = .seconds(3600)
        #expect(try await detector.speech(in: sound, options) == detector.speech(in: sound))
    }

    @Test("the seconds that are done grow up to the length of the sound", arguments: ["whisper", "characters"])
    func progress(_ name: String) async throws {
        let model = try await model(name)
        let sound = try sound()
        for spoken in [nil, [0.5...2], []] as [[ClosedRange<Double>]?] {
            var options = TranscriptionOptions()
            options.spoken = spoken
            let transcription = try model.transcribe(sound, options)
            #expect(transcription.secondsDone == 0 && transcription.duration == sound.duration)
            var last = 0.0
            for try await segment in transcription {
                let done = transcription.secondsDone
                #expect(
                    done >= last && done >= min(segment.start, sound.duration) && done <= sound.duration,
                    "\(spoken as Any): \(last), \(done), \(segment.start) to \(segment.end)")
                last = done
            }
            #expect(transcription.secondsDone == sound.duration)
        }
        let live = try model.transcribe(
            live: AsyncStream<Sound> { stream in
                stream.yield(sound)
                stream.finish()
            })
        for try await _ in live {}
        #expect(abs(live.secondsDone - sound.duration) < 0.05)
    }

    @Test("a task that is cancelled in the middle ends there")
    func cancelled() async throws {
        let model = try await model("whisper")
        let talk = try sound().mono
        let long = try Sound(
            samples: (0..<40).flatMap { _ in talk.samples }, sampleRate: talk.sampleRate)
        let transcription = try model.transcribe(long)
        let task = Task { for try await _ in transcription {} }
        while transcription.secondsDone == 0 { try await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        let result = await task.result
        #expect(transcription.secondsDone < long.duration)
        #expect(throws: AccelError.self) { try result.get() }
        if case .failure(let error) = result { #expect((error as? AccelError)?.code == .cancelled) }
    }

    @Test("the tool prints how much of the sound is done, and the same text")
    func tool() throws {
        let package = "\(try Self.packages.path)/whisper.accelpkg"
        try withTemporaryFolder { folder in
            let words = ["run", package, "--audio", Fixtures.path("speech/talk.wav")]
            let (plain, lines) = (
                try CommandRunner.run(words, in: folder),
                try CommandRunner.run(words + ["--progress", "lines"], in: folder)
            )
            #expect(lines.status == 0 && lines.output == plain.output && !plain.errors.contains("transcribing"))
            #expect(lines.errors.contains("transcribing (3) ...\n"), "\(lines.errors)")
            #expect(lines.errors.contains("  transcribing 3 of 3: 2.8 s of sound\n"), "\(lines.errors)")
        }
    }
}
