import Accel
import AccelAudio
import AccelByteIO
import AccelConversion

/// The options of a run on a sound.
enum SpeechOptions {
    static let audio = Option(
        "audio", .input("FILE"), in: .input,
        "print the text that is spoken in a WAVE or AIFF file of any length. The text is printed window by window. - "
            + "is a WAVE file on standard input, such as the output of a recorder: the text is printed while the sound goes on",
        isCommon: true, excludes: ["inputs", "prompt", "messages", "chat", "text"])
    static let task = Option(
        "task", .words(TranscriptionOptions.Task.allCases.map(\.rawValue)), in: .generation,
        "print the words, or their English translation",
        default: TranscriptionOptions.Task.transcribe.rawValue,
        needs: [.option("audio")])
    static let language = Option(
        "language", .text("CODE"), in: .generation,
        "the spoken language, e.g. en (default: detected in the first window)", needs: [.option("audio")])
    static let format = Option(
        "format", .words(TranscriptFormat.allCases.map(\.rawValue)), in: .format,
        "the format of the transcript. srt and vtt are subtitles with times, words has a line for each word",
        default: TranscriptFormat.text.rawValue,
        excludes: ["json"], needs: [.option("audio")])

    static let detector = Option(
        "vad", .input("MODEL"), in: .input,
        "transcribe only the speech that MODEL finds, such as Silero VAD",
        needs: [.option("audio")], takes: PathKind.models)

    static let all = [audio, task, language, format, detector]

    static func format(_ arguments: Arguments) -> TranscriptFormat? { arguments[format].flatMap(TranscriptFormat.init) }
}

/// A run that prints the text of a sound.
struct SpeechRun {
    private let model: AccelModel
    /// Finds the parts with speech, with its package, which stays in the cache as long as this exists; nil for a transcript of the whole sound.
    private let detector: (package: RunnablePackage, model: AccelModel)?
    private let input: SpokenInput
    private let arguments: Arguments
    private let console: Console

    init(_ model: AccelModel, _ input: SpokenInput, _ arguments: Arguments, _ console: Console) throws {
        (self.model, self.input, self.arguments, self.console) = (model, input, arguments, console)
        detector = try arguments[SpeechOptions.detector].map { path in
            let runnable = try RunnablePackage(of: path, arguments, console) { $0.takesAllUsualShapes = true }
            if !runnable.isChecked { try console.check(runnable.package, includesReport: false) }
            return (runnable, try RunCommand.model(runnable.package, arguments, console))
        }
    }

    func run() throws {
        let start = ContinuousClock.now
        var options = TranscriptionOptions(language: arguments[SpeechOptions.language])
        if let task = arguments[SpeechOptions.task].flatMap(TranscriptionOptions.Task.init) { options.task = task }
        if let model = detector?.model, case .file(let sound) = input {
            options.spoken = try waiting { try await model.speech(in: sound) }
        }
        let format = SpeechOptions.format(arguments) ?? .text
        let isJSON = arguments.has(CommonOptions.json)
        options.findsWordTimes = format == .words || isJSON && model.functions.contains { $0.role == .align }
        let pieces = SoundPieces()
        let transcription: SpokenText =
            switch input {
            case .file(let sound): .whole(try model.transcribe(sound, options))
            case .standardInput: .live(try model.transcribe(live: pieces, options, by: detector?.model))
            }
        if !isJSON { console.stream(format.beginning) }
        var segments: [TranscriptionSegment] = []
        let length = transcription.duration.map { Int($0.rounded(.up)) }
        let progress = console.progress("transcribing", total: length)
        func noteProgress() {
            let seconds = transcription.secondsDone
            let whole = seconds == transcription.duration ? length : nil
            progress.reach(whole ?? Int(seconds), "\(Text.decimals(seconds, 1)) s of sound")
        }
        while !console.isOutputLost, let segment = try waiting(for: { try await transcription.next() }) {
            segments.append(segment)
            noteProgress()
            if !isJSON { console.stream(format.text(of: segment, number: segments.count)) }
        }
        noteProgress()
        progress.finish()
        let duration = if case .file(let sound) = input { sound.duration } else { pieces.seconds.withLock { $0 } }
        guard !isJSON else {
            console.print(document(segments, transcription, duration, options.spoken, start.secondsToNow))
            return
        }
        guard !console.isOutputLost else { return }
        let silence = transcription.secondsWithoutSpeech
        let parts = [
            transcription.language.map { "language: \($0)" },
            "\(Text.decimals(duration, 1)) s of sound in \(Text.decimals(start.secondsToNow, 1)) s",
            options.spoken.map { "speech found in \(Text.decimals($0.seconds, 1)) s" },
            silence > 0 ? "no speech in \(Text.decimals(silence, 1)) s" : nil,
            "peak memory \(Wording.bytes(Timing.processPeak))",
        ]
        console.note(parts.compactMap(\.self).joined(separator: "; "))
    }

    private func document(
        _ segments: [TranscriptionSegment], _ whole: SpokenText, _ duration: Double,
        _ spoken: [ClosedRange<Double>]?, _ seconds: Double
    ) -> JSON {
        func rounded(_ value: Double) -> JSON { .number((value * 10_000).rounded() / 10_000) }
        return [
            "text": .string(segments.map(\.text).joined()),
            "language": whole.language.map { .string($0) } ?? .null,
            "sound_seconds": rounded(duration),
            "seconds_without_speech": rounded(whole.secondsWithoutSpeech),
            "transcription_ms": .number((seconds * 1e6).rounded() / 1000),
            "spoken": spoken.map { .array($0.map { .array([rounded($0.lowerBound), rounded($0.upperBound)]) }) }
                ?? .null,
            "segments": .array(
                segments.map { segment in
                    [
                        "start": rounded(segment.start), "end": rounded(segment.end), "text": .string(segment.text),
                        "tokens": .array(segment.tokens.map { .integer($0) }),
                        "words": .array(
                            segment.words.map { word in
                                [
                                    "start": rounded(word.start), "end": rounded(word.end), "text": .string(word.text),
                                    "probability": rounded(word.probability),
                                ]
                            }),
                        "temperature": rounded(Double(segment.temperature)),
                        "mean_log_probability": rounded(segment.meanLogProbability),
                        "compression_ratio": rounded(segment.compressionRatio),
                        "no_speech_probability": rounded(Double(segment.noSpeechProbability)),
                    ]
                }), "peak_memory_bytes": .int(Timing.processPeak),
        ]
    }
}

extension [ClosedRange<Double>] {
    /// The sum of the lengths.
    fileprivate var seconds: Double { reduce(0) { $0 + $1.upperBound - $1.lowerBound } }
}
