import Accel
import AccelAudio
import CAccel
import TestSupport
import Testing

@Suite("Transcripts of C")
struct CSpeechTests {
    private static let sound = Result { try Sound(contentsOf: Fixtures.path("speech/talk.wav")) }

    /// A segment with its text.
    private struct Segment: Equatable {
        let start, end, meanLogProbability: Double
        let noSpeechProbability: Float
        let text: String
    }

    private func transcription(
        _ model: CModel, _ change: (inout accel_speech) -> Void = { _ in }
    ) throws -> OpaquePointer? {
        let sound = try Self.sound.get()
        var (speech, made, error) = (accel_speech(), OpaquePointer(bitPattern: 0), CError())
        speech.struct_size = UInt32(MemoryLayout<accel_speech>.size)
        speech.sample_rate = UInt32(sound.sampleRate)
        speech.channel_count = UInt32(sound.channelCount)
        let status = sound.samples.withUnsafeBufferPointer {
            (speech.samples, speech.sample_count) = ($0.baseAddress, $0.count)
            change(&speech)
            return accel_model_transcribe(model.handle, &speech, &made, &error.parts)
        }
        guard status == 0 else { throw CFailure(error) }
        return made
    }

    /// The next segment; nil after the last one.
    private func next(_ transcription: OpaquePointer?) throws -> Segment? {
        var (segment, error) = (accel_segment(), CError())
        segment.struct_size = UInt32(MemoryLayout<accel_segment>.size)
        let status = accel_transcription_next(transcription, &segment, &error.parts)
        if status == Int32(ACCEL_END) { return nil }
        guard status == 0, let text = segment.text else { throw CFailure(error) }
        return Segment(
            start: segment.start, end: segment.end, meanLogProbability: segment.mean_log_probability,
            noSpeechProbability: segment.no_speech_probability, text: String(cString: text))
    }

    private func summary(_ transcription: OpaquePointer?) -> accel_transcript {
        var summary = accel_transcript()
        summary.struct_size = UInt32(MemoryLayout<accel_transcript>.size)
        #expect(accel_transcription_summary(transcription, &summary, nil) == 0)
        return summary
    }

    @Test("segments, progress and the language are those of Swift", arguments: [false, true])
    func segments(translates: Bool) async throws {
        let sound = try Self.sound.get()
        let model = try CModel(try CPackages.recognizer.get())
        let made = try transcription(model) { $0.flags = translates ? UInt32(ACCEL_TRANSLATE) : 0 }
        defer { accel_transcription_release(made) }
        var state = summary(made)
        #expect(state.seconds == sound.duration && state.seconds_done == 0 && state.language == nil)
        var found: [Segment] = []
        while let segment = try next(made) { found.append(segment) }
        let swift = try await AccelModel(.path(try CPackages.recognizer.get()), configuration: .reproducible)
        let transcription = try swift.transcribe(
            sound, TranscriptionOptions(task: translates ? .translate : .transcribe))
        var expected: [Segment] = []
        for try await segment in transcription {
            expected.append(
                Segment(
                    start: segment.start, end: segment.end, meanLogProbability: segment.meanLogProbability,
                    noSpeechProbability: segment.noSpeechProbability, text: segment.text))
        }
        #expect(found == expected && !found.isEmpty)
        state = summary(made)
        #expect(state.seconds_done == sound.duration)
        #expect(state.seconds_without_speech == transcription.secondsWithoutSpeech)
        #expect(state.language.map { String(cString: $0) } == transcription.language)
        #expect(try next(made) == nil)
    }

    @Test("a requested token and a time that is over end it")
    func ends() throws {
        let model = try CModel(try CPackages.recognizer.get())
        let cancel = accel_cancel_create()
        defer { accel_cancel_release(cancel) }
        let made = try transcription(model) { $0.cancel = cancel }
        defer { accel_transcription_release(made) }
        #expect(accel_cancel_request(cancel) == 0)
        var (segment, error) = (accel_segment(), CError())
        segment.struct_size = UInt32(MemoryLayout<accel_segment>.size)
        #expect(accel_transcription_next(made, &segment, &error.parts) == Int32(ACCEL_CANCELLED))
        #expect(segment.text == nil)
        // Longer than a window takes at any rate.
        let long = [Float](repeating: 0.1, count: 16_000 * 600)
        let late = try long.withUnsafeBufferPointer { samples in
            try transcription(model) {
                ($0.samples, $0.sample_count) = (samples.baseAddress, samples.count)
                ($0.sample_rate, $0.channel_count, $0.time_limit_ms) = (16_000, 1, 1)
            }
        }
        defer { accel_transcription_release(late) }
        var status: Int32 = 0
        while status == 0 { status = accel_transcription_next(late, &segment, &error.parts) }
        #expect(status == Int32(ACCEL_TIMED_OUT), "\(error.message)")
    }

    @Test("a sound without a meaning, unknown flags and models that hear nothing are rejected")
    func rejections() throws {
        let model = try CModel(try CPackages.recognizer.get())
        let changes: [(inout accel_speech) -> Void] = [
            { $0.struct_size = 0 }, { $0.flags = 2 }, { $0.samples = nil }, { $0.sample_count = -1 },
            { $0.sample_count = .max }, { $0.sample_rate = 0 }, { $0.sample_rate = .max },
            { ($0.channel_count, $0.sample_count) = (7, 8) }, { $0.time_limit_ms = -1 },
            { $0.cancel = model.handle },
        ]
        for (index, change) in changes.enumerated() {
            #expect(throws: CFailure.self, "\(index)") { try transcription(model, change) }
        }
        #expect(throws: CFailure.self, "an unknown language") {
            _ = try "xx".withCString { code in try transcription(model) { $0.language = code } }
        }
        let decoder = try CModel(try CPackages.decoder.get())
        #expect(throws: CFailure.self) { try transcription(decoder) }
        var (segment, error) = (accel_segment(), CError())
        let made = try transcription(model)
        defer { accel_transcription_release(made) }
        #expect(accel_transcription_next(made, nil, &error.parts) == 2)
        #expect(accel_transcription_next(made, &segment, &error.parts) == 2, "without its size")
    }
}
