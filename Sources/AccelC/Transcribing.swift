// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelAudio
import AccelByteIO
public import CAccel

/// The object behind a transcription handle.
final class TranscriptionObject: HandledObject {
    static let kind = Handle.Kind.transcription
    let transcription: Transcription
    private let isCancelled: (@Sendable () -> Bool)?
    /// The text of the segment that the caller reads.
    private let lentText = Locked<LentMemory?>(nil)
    private let memory = LentMemory()
    private let lentLanguage = Locked<FunctionObject.Address<CChar>?>(nil)

    init(_ transcription: Transcription, until isCancelled: (@Sendable () -> Bool)?) {
        (self.transcription, self.isCancelled) = (transcription, isCancelled)
    }

    /// The next segment; nil after the last one.
    func next() throws(AccelError) -> TranscriptionSegment? {
        let transcription = transcription
        return try WaitingThread.wait(until: isCancelled) { () async throws(AccelError) -> TranscriptionSegment? in
            var iterator = transcription.makeAsyncIterator()
            return try await iterator.next()
        }
    }

    /// A text that lives until the next one.
    func lend(_ text: String) -> UnsafePointer<CChar> {
        let memory = LentMemory()
        lentText.withLock { $0 = memory }
        return memory.string(text)
    }

    /// The code of the spoken language, which lives as long as this; NULL while it is not known.
    var language: UnsafePointer<CChar>? {
        guard let language = transcription.language else { return nil }
        return lentLanguage.withLock { lent in
            let address = lent ?? FunctionObject.Address(memory.string(language))
            lent = address
            return address
        }.pointer
    }
}

extension Sound {
    /// A copy of the caller's samples.
    fileprivate init(copying speech: accel_speech) throws(AccelError) {
        let samples = try array(speech.samples, speech.sample_count, "accel_speech.samples")
        let most = UInt32(Int32.max)
        let channels = try number(speech.channel_count, atMost: most, "accel_speech.channel_count") ?? 1
        let rate = try number(speech.sample_rate, atMost: most, "accel_speech.sample_rate") ?? 0
        do {
            try self.init(samples: samples, channelCount: Int(channels), sampleRate: Int(rate))
        } catch { throw AccelError(.invalid, error.description, at: "accel_speech") }
    }
}

extension TranscriptionOptions {
    fileprivate init(_ speech: accel_speech) throws(AccelError) {
        self.init()
        guard speech.flags & ~UInt32(ACCEL_TRANSLATE) == 0 else {
            throw AccelError(
                .unsupported, expected: "0 or ACCEL_TRANSLATE", found: "\(speech.flags)", at: "accel_speech.flags")
        }
        if speech.flags & UInt32(ACCEL_TRANSLATE) != 0 { task = .translate }
        if speech.language != nil { language = try string(speech.language, "accel_speech.language") }
        seed = speech.seed
        timeLimit = try AccelC.timeLimit(speech.time_limit_ms, "accel_speech.time_limit_ms")
    }
}

@c @implementation public func accel_model_transcribe(
    _ model: OpaquePointer?, _ speech: UnsafePointer<accel_speech>?,
    _ transcription: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: transcription, "transcription") { () throws(AccelError) in
            let object = try HandleTable.all.object(model, as: ModelObject.self)
            let given = try CStruct.read(try required(speech, "speech"), "accel_speech")
            let (options, isCancelled) = (try TranscriptionOptions(given), try cancelPoll(given.cancel))
            let made = try object.model.transcribe(try Sound(copying: given), options)
            return TranscriptionObject(made, until: isCancelled)
        }
    }
}

@c @implementation public func accel_transcription_next(
    _ transcription: OpaquePointer?, _ segment: UnsafeMutablePointer<accel_segment>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    var hasEnded = false
    let status = attempt(error) { () throws(AccelError) in
        let target = try required(segment, "segment")
        let object = try HandleTable.all.object(transcription, as: TranscriptionObject.self)
        guard var written = CStruct(filling: target) else { throw AccelError(unset: "accel_segment") }
        guard let next = try object.next() else {
            hasEnded = true
            return
        }
        written.set(\.no_speech_probability, next.noSpeechProbability)
        written.set(\.start, next.start)
        written.set(\.end, next.end)
        written.set(\.mean_log_probability, next.meanLogProbability)
        written.set(\.text, UnsafePointer<CChar>?.some(object.lend(next.text)))
    }
    return hasEnded ? accel_status(ACCEL_END) : status
}

@c @implementation public func accel_transcription_summary(
    _ transcription: OpaquePointer?, _ summary: UnsafeMutablePointer<accel_transcript>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let target = try required(summary, "summary")
        let object = try HandleTable.all.object(transcription, as: TranscriptionObject.self)
        guard var written = CStruct(filling: target) else { throw AccelError(unset: "accel_transcript") }
        written.set(\.seconds, object.transcription.duration)
        written.set(\.seconds_done, object.transcription.secondsDone)
        written.set(\.seconds_without_speech, object.transcription.secondsWithoutSpeech)
        written.set(\.language, object.language)
    }
}

@c @implementation public func accel_transcription_release(_ transcription: OpaquePointer?) -> accel_status {
    HandleTable.all.release(transcription, as: TranscriptionObject.self)
}
