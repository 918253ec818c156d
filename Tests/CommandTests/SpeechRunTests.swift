import Accel
import AccelAudio
import AccelByteIO
import Foundation
import TestSupport
import Testing

/// Transcripts of a tiny Whisper: those of an implementation in Python of the same rules (scripts/fixtures_speech.py).
@Suite("Runs on sounds")
struct SpeechRunTests {
    private static let sound = Fixtures.path("speech/talk.wav")
    private static let packages = SharedFolder { folder in
        for (name, words) in [
            ("whisper", [Fixtures.path("speech/whisper")]),
            ("last", [Fixtures.path("speech/whisper"), "--logits", "last"]),
            ("aligned", [Fixtures.path("speech/whisper"), "--part", "all"]),
            ("encoder", [Fixtures.path("speech/whisper"), "--part", "encoder"]),
            ("llama", [Fixtures.path("text/llama")]), ("silent", [Fixtures.path("whisper_small")]),
        ] {
            try CommandRunner.succeed(
                ["convert"] + words + ["--compress", "float32", "-o", "\(folder)/\(name).accelpkg", "--no-cache"],
                in: folder)
        }
        for (name, isDeaf) in [("energy", false), ("deaf", true)] {
            try EnergyDetector.write(to: "\(folder)/\(name)", isDeaf: isDeaf)
            try CommandRunner.succeed(
                ["convert", name, "-o", "\(folder)/\(name).accelpkg", "--no-cache"], in: folder)
        }
    }

    private func expected(_ name: String) throws -> JSONField {
        let path = Fixtures.path("speech/transcripts.json")
        return JSONField(try JSON.read(path), file: path)[name]
    }

    private func run(_ words: [String], package: String = "whisper") throws -> (
        status: Int32, output: String, errors: String
    ) {
        let path = "\(try Self.packages.path)/\(package).accelpkg"
        // Each run has streams of its own.
        return try withTemporaryFolder { folder in
            let result = try CommandRunner.run(["run", path] + words, in: folder)
            return (result.status, result.output, result.errors)
        }
    }

    private func near(_ found: Double, _ expected: JSONField, _ tolerance: Double) throws -> Bool {
        abs(found - (try expected.double())) <= tolerance
    }

    @Test(
        "segments, times, tokens and probabilities are those of the rules, with all logits or the last ones",
        arguments: ["whisper", "last"], ["detected", "german", "translated"])
    func transcripts(_ package: String, _ name: String) async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/\(package).accelpkg"), configuration: .reproducible)
        var options = TranscriptionOptions(
            task: name == "translated" ? .translate : .transcribe, language: name == "german" ? "de" : nil)
        options.temperatures = [0]
        let transcription = try model.transcribe(try Sound(contentsOf: Self.sound), options)
        var found: [TranscriptionSegment] = []
        for try await segment in transcription { found.append(segment) }
        let transcript = try expected(name)
        #expect(transcription.language == (try transcript["language"].string()))
        let segments = try transcript["segments"].array()
        #expect(found.count == segments.count)
        for (found, expected) in zip(found, segments) {
            #expect(found.text == (try expected["text"].string()))
            #expect(found.tokens == (try expected["tokens"].array().map { Int64(try $0.int()) }))
            #expect(try near(found.start, expected["start"], 1e-9) && near(found.end, expected["end"], 1e-9))
            #expect(try near(found.meanLogProbability, expected["mean_log_probability"], 1e-3))
            #expect(try near(found.compressionRatio, expected["compression_ratio"], 1e-9))
            #expect(try near(Double(found.noSpeechProbability), expected["no_speech_probability"], 1e-4))
            #expect(found.temperature == 0)
        }
        var iterator = transcription.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test("a mix of channels at another rate is the same sound")
    func channels() async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/whisper.accelpkg"), configuration: .reproducible)
        let sound = try Sound(contentsOf: Self.sound)
        let stereo = try Sound(
            samples: sound.samples.flatMap { [$0 + 0.25, $0 - 0.25] }, channelCount: 2, sampleRate: sound.sampleRate)
        for (other, isSame) in [
            (stereo, true), (try stereo.resampled(to: 48_000), true), (try Sound(samples: [], sampleRate: 8000), false),
        ] {
            let transcription = try model.transcribe(other)
            var texts: [String] = []
            for try await segment in transcription { texts.append(segment.text) }
            #expect(texts.isEmpty != isSame)
            if other == stereo {
                #expect(texts == (try expected("detected")["segments"].array().map { try $0["text"].string() }))
            }
        }
    }

    @Test("higher temperatures follow until a text is accepted, windows without speech have none, and the seed decides")
    func fallback() async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/whisper.accelpkg"), configuration: .reproducible)
        let sound = try Sound(contentsOf: Self.sound)
        func segments(_ change: (inout TranscriptionOptions) -> Void) async throws -> [TranscriptionSegment] {
            var options = TranscriptionOptions()
            change(&options)
            var found: [TranscriptionSegment] = []
            for try await segment in try model.transcribe(sound, options) { found.append(segment) }
            return found
        }
        let plain = try await segments { _ in }
        #expect(plain.allSatisfy { $0.temperature == 0 })
        // No text is as probable as that: each window is the most probable one.
        let improbable = try await segments { $0.logProbabilityLimit = 0 }
        #expect(try #require(improbable.first).meanLogProbability >= plain[0].meanLogProbability)
        let repeated = try await segments { ($0.compressionRatioLimit, $0.temperatures) = (0, [0.4, 0]) }
        #expect(try #require(repeated.first).meanLogProbability >= plain[0].meanLogProbability)
        let warm = try await segments { $0.temperatures = [0.8] }
        #expect(!warm.isEmpty && warm.allSatisfy { $0.temperature == 0.8 })
        #expect(try await segments { $0.temperatures = [0.8] } == warm)
        let other = try await segments { ($0.temperatures, $0.seed) = ([0.8], 7) }
        #expect(other != warm)
        #expect(try await segments { ($0.logProbabilityLimit, $0.noSpeechLimit) = (0, -1) } == [])
        // Each window for itself: the first one is the same, later ones have other prompts.
        let alone = try await segments { $0.usesPreviousText = false }
        #expect(alone[0] == plain[0] && alone != plain)
        let unheated = await #expect(throws: AccelError.self) { try await segments { $0.temperatures = [] } }
        #expect(unheated?.code == .invalid)
    }

    @Test("a cancelled task ends the transcription")
    func cancelled() async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/whisper.accelpkg"), configuration: .reproducible)
        let transcription = try model.transcribe(try Sound(contentsOf: Self.sound))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = transcription.makeAsyncIterator()
            return try await iterator.next()
        }
        let error = await #expect(throws: AccelError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test("a detector finds the parts with speech, and times of their transcript are those of the whole sound")
    func voiceActivity() async throws {
        func model(_ name: String) async throws -> AccelModel {
            try await AccelModel(
                .path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
        }
        let talk = try Sound(contentsOf: Self.sound).mono.resampled(to: 16_000).samples
        // Three seconds of silence before it, and four after it.
        let sound = try Sound(
            samples: [Float](repeating: 0, count: 48_000) + talk + [Float](repeating: 0, count: 64_000),
            sampleRate: 16_000)
        let spoken = try await model("energy").speech(in: sound)
        #expect(spoken.count == 1)
        let found = try #require(spoken.first)
        // A chunk is 32 ms, and padding 400 ms. The talk may begin or end in silence.
        let loud = talk.indices.filter { abs(talk[$0]) > 0.01 }
        let (first, last) = (3 + Double(loud[0]) / 16_000, 3 + Double(loud[loud.count - 1]) / 16_000)
        #expect(first - 0.4 - 0.3...first - 0.3 ~= found.lowerBound, "\(found), \(first)")
        #expect(last + 0.3...last + 0.4 + 0.3 ~= found.upperBound, "\(found), \(last)")
        #expect(try await model("deaf").speech(in: sound) == [])
        var options = TranscriptionOptions()
        options.temperatures = [0]
        func segments(_ sound: Sound, _ spoken: [ClosedRange<Double>]?) async throws -> [TranscriptionSegment] {
            options.spoken = spoken
            var found: [TranscriptionSegment] = []
            for try await segment in try await model("whisper").transcribe(sound, options) { found.append(segment) }
            return found
        }
        let cut = try Sound(
            samples: Array(sound.samples[Int(found.lowerBound * 16_000)..<Int(found.upperBound * 16_000)]),
            sampleRate: 16_000)
        let (whole, alone) = (try await segments(sound, spoken), try await segments(cut, nil))
        #expect(!whole.isEmpty && whole.map(\.tokens) == alone.map(\.tokens))
        for (left, right) in zip(whole, alone) {
            #expect(abs(left.start - found.lowerBound - right.start) < 1e-6)
            #expect(abs(left.end - found.lowerBound - right.end) < 1e-6)
        }
        #expect(try await segments(sound, []).isEmpty)
        let error = await #expect(throws: AccelError.self) { try await model("whisper").speech(in: sound) }
        #expect(error?.code == .unsupported)
        let folder = try Self.packages.path
        let document = try run(["--audio", Self.sound, "--json", "--vad", "\(folder)/deaf.accelpkg"])
        #expect(document.output.contains(#""spoken": []"#) && document.output.contains(#""segments": []"#))
        let lines = try run(["--audio", Self.sound, "--vad", "\(folder)/energy.accelpkg"])
        #expect(lines.status == 0 && !lines.output.isEmpty && lines.errors.contains("; speech found in 2.8 s;"))
    }

    @Test("a sound that goes on has the segments of its windows, with the times of the whole sound")
    func live() async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/whisper.accelpkg"), configuration: .reproducible)
        let talk = try Sound(contentsOf: Self.sound).mono.resampled(to: 16_000).samples
        let silence = [Float](repeating: 0, count: 32_000)
        let samples = silence + talk + silence + talk + silence
        let pieces = AsyncStream<Sound> { stream in
            for start in stride(from: 0, to: samples.count, by: 10_000) {
                let piece = Array(samples[start..<min(start + 10_000, samples.count)])
                if let sound = try? Sound(samples: piece, sampleRate: 16_000) { stream.yield(sound) }
            }
            stream.finish()
        }
        var options = TranscriptionOptions()
        (options.temperatures, options.usesPreviousText) = ([0], false)
        let whole = AsyncStream<Sound> { stream in
            if let sound = try? Sound(samples: samples, sampleRate: 16_000) { stream.yield(sound) }
            stream.finish()
        }
        var expected: [TranscriptionSegment] = []
        var language: String?
        var windows: [SpeechWindow] = []
        for try await window in try whole.speechWindows() {
            windows.append(window)
            options.language = language
            let transcription = try model.transcribe(window.sound, options)
            for try await segment in transcription { expected.append(segment) }
            language = transcription.language
        }
        options.language = nil
        #expect(windows.count >= 2 && !expected.isEmpty)
        let transcription = try model.transcribe(live: pieces, options)
        var found: [TranscriptionSegment] = []
        for try await segment in transcription { found.append(segment) }
        #expect(found.map(\.text) == expected.map(\.text) && transcription.language == language)
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.start <= $1.start })
        let first = try #require(found.first)
        #expect(abs(first.start - windows[0].start - expected[0].start) < 1e-9)
        #expect(transcription.secondsWithoutSpeech > 3)
        // A detector tells speech in place of the level, at any rate of the pieces.
        let detector = try await AccelModel(
            .path("\(try Self.packages.path)/energy.accelpkg"), configuration: .reproducible)
        for rate in [16_000, 48_000] {
            let sound = try Sound(samples: samples, sampleRate: 16_000).resampled(to: rate)
            let pieces = AsyncStream<Sound> { stream in
                stream.yield(sound)
                stream.finish()
            }
            var windows: [SpeechWindow] = []
            for try await window in try pieces.speechWindows(by: detector) { windows.append(window) }
            #expect(windows.count >= 2 && windows.allSatisfy { $0.sound.sampleRate == 16_000 }, "\(windows.count)")
            #expect(windows[0].start > 1.5 && windows[0].start < 2.5)
        }
        options.spoken = [0...1]
        let error = #expect(throws: AccelError.self) { try model.transcribe(live: pieces, options) }
        #expect(error?.code == .invalid)
    }

    @Test("the tool prints the text of standard input while it goes on")
    func standardInput() throws {
        let path = "\(try Self.packages.path)/whisper.accelpkg"
        let talk = try Sound(contentsOf: Self.sound).mono
        let silence = [Float](repeating: 0, count: 2 * talk.sampleRate)
        var bytes = try Sound(samples: talk.samples + silence, sampleRate: talk.sampleRate).wave()
            .withBytes { Data($0) }
        // As a recorder writes it, which does not know the length.
        for index in 40..<44 { bytes[index] = 0xFF }
        try withTemporaryFolder { folder in
            let process = CommandRunner.process(["run", path, "--audio", "-"], in: folder)
            let (input, output, errors) = (Pipe(), Pipe(), Pipe())
            (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
            try process.run()
            try input.fileHandleForWriting.write(contentsOf: bytes)
            // The text is there before the sound ends.
            let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            #expect(!text.isEmpty)
            try input.fileHandleForWriting.close()
            process.waitUntilExit()
            let rest = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            #expect(process.terminationStatus == 0 && rest.contains(" s of sound in "), "\(rest)")
            let wrong = CommandRunner.process(["run", path, "--audio", "-"], in: folder)
            let (bad, reasons) = (Pipe(), Pipe())
            (wrong.standardInput, wrong.standardError) = (bad, reasons)
            try wrong.run()
            try bad.fileHandleForWriting.write(contentsOf: Data("this is no sound".utf8))
            try bad.fileHandleForWriting.close()
            wrong.waitUntilExit()
            let reason = String(decoding: reasons.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            #expect(
                wrong.terminationStatus != 0 && reason.contains("standard input") && reason.contains("is not a WAVE"))
        }
    }

    @Test("words have the times of the path through their attention", arguments: ["detected", "german", "translated"])
    func wordTimes(_ name: String) async throws {
        let model = try await AccelModel(
            .path("\(try Self.packages.path)/aligned.accelpkg"), configuration: .reproducible)
        var options = TranscriptionOptions(
            task: name == "translated" ? .translate : .transcribe, language: name == "german" ? "de" : nil)
        (options.temperatures, options.findsWordTimes) = ([0], true)
        var count = 0
        let segments = try expected(name)["segments"].array()
        var index = 0
        for try await segment in try model.transcribe(try Sound(contentsOf: Self.sound), options) {
            let words = try segments[index]["words"].array()
            #expect(try segment.words.map(\.text) == words.map { try $0["text"].string() })
            #expect(segment.words.map(\.text).joined() == segment.text)
            for (found, expected) in zip(segment.words, words) {
                #expect(try near(found.start, expected["start"], 1e-6) && near(found.end, expected["end"], 1e-6))
                #expect(try near(found.probability, expected["probability"], 1e-3))
            }
            (index, count) = (index + 1, count + words.count)
        }
        #expect(index == segments.count && count > 10)
    }

    @Test("the tool prints a line for each word, and has words in its document, of a package that tells their times")
    func wordLines() throws {
        let words = try expected("detected")["segments"].array().flatMap { try $0["words"].array() }
        let audio = ["--audio", Self.sound]
        let lines = try run(audio + ["--format", "words", "-q"], package: "aligned").output.split(separator: "\n")
        #expect(lines.count == words.count)
        let first = try #require(lines.first).split(separator: "\t")
        #expect(try first.count == 3 && first[2] == words[0]["text"].string().drop { $0 == " " })
        #expect(try near(try #require(Double(first[1])), words[0]["end"], 0.01))
        let document = try run(audio + ["--json"], package: "aligned").output
        #expect(document.contains(#""probability": "#))
        #expect(try run(audio + ["--json"]).output.contains(#""words": []"#))
        let rejected = try run(audio + ["--format", "words"])
        #expect(rejected.status != 0 && rejected.errors.contains("convert the model with --part all"))
        // A model is converted with all of its parts.
        try withTemporaryFolder { folder in
            let whole = try CommandRunner.run(
                ["run", Fixtures.path("speech/whisper")] + audio + ["--format", "words", "--cache", "\(folder)/cache"],
                in: folder)
            #expect(whole.status == 0 && whole.output.split(separator: "\n").count == words.count, "\(whole.errors)")
        }
    }

    @Test("the tool prints lines, subtitles or a document")
    func formats() throws {
        let segments = try expected("detected")["segments"].array()
        let texts = try segments.map { try $0["text"].string().drop { $0 == " " } }
        let audio = ["--audio", Self.sound]
        let lines = try run(audio)
        #expect(lines.status == 0 && lines.output == texts.map { "\($0)\n" }.joined())
        #expect(lines.errors.contains("language: fr; 2.8 s of sound in "))
        let subtitles = try run(audio + ["--format", "srt", "-q"])
        #expect(subtitles.output.hasPrefix("1\n00:00:00,140 --> 00:00:00,720\n\(texts[0])\n\n2\n00:00:00,720 --> "))
        #expect(subtitles.errors.isEmpty)
        let web = try run(audio + ["--format", "vtt"]).output
        #expect(web.hasPrefix("WEBVTT\n\n00:00:00.140 --> 00:00:00.720\n\(texts[0])\n\n00:00:00.720 --> "))
        let output = try run(audio + ["--json", "--task", "translate"]).output
        let document = JSONField(try JSON.parse(ByteView(Array(output.utf8)), file: "output"), file: "output")
        let translated = try expected("translated")["segments"].array()
        #expect(try document["text"].string() == translated.map { try $0["text"].string() }.joined())
        #expect(try document["language"].string() == "fr" && document["sound_seconds"].double() == 2.75)
        for (found, expected) in zip(try document["segments"].array(), translated) {
            #expect(found["tokens"].value == expected["tokens"].value)
            #expect(try near(found["end"].double(), expected["end"], 1e-4))
        }
        #expect(try run(audio + ["--language", "de"]).output != lines.output)
    }

    @Test(
        "what cannot be transcribed is rejected with its reason",
        arguments: [
            ("llama", [sound], "no function takes the log-mel features of a sound"),
            ("encoder", [sound], "no decoder reads the output of the encoder"),
            ("silent", [sound], "the package has no tokenizer"),
            ("whisper", [sound, "--language", "xx"], #"does not know the language "xx""#),
            (
                "whisper", [Fixtures.path("speech/transcripts.json")],
                "is not a WAVE or AIFF file; convert the sound to a WAVE file first"
            ),
            ("whisper", ["nothing.wav"], "nothing.wav"),
        ] as [(String, [String], String)])
    func rejected(_ package: String, _ words: [String], _ reason: String) throws {
        let result = try run(["--audio"] + words, package: package)
        #expect(result.status != 0 && result.output.isEmpty)
        #expect(result.errors.contains(reason), "\(result.errors)")
    }
}
