import Accel
import AccelAudio
import AccelByteIO

/// The sound of `run --audio`: a file, or a WAVE file that arrives on standard input.
enum SpokenInput {
    case file(Sound)
    case standardInput

    init(_ path: String) throws { self = path == "-" ? .standardInput : .file(try Sound(contentsOf: path)) }
}

/// The pieces of a sound that arrives on standard input.
struct SoundPieces: AsyncSequence, Sendable {
    /// The seconds so far.
    let seconds = Locked(0.0)

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let seconds: Locked<Double>
        private var stream = WaveStream(name: "standard input")

        fileprivate init(_ seconds: Locked<Double>) { self.seconds = seconds }

        mutating func next() async throws -> Sound? { try await next(isolation: nil) }
        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Sound? {
            while true {
                let bytes = try StandardInput.bytes()
                guard !bytes.isEmpty else {
                    try stream.finish()
                    return nil
                }
                guard let piece = try stream.append(bytes) else { continue }
                seconds.withLock { $0 += piece.duration }
                return piece
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(seconds) }
}

/// The transcript of either kind of sound.
enum SpokenText {
    case whole(Transcription)
    case live(LiveTranscription<SoundPieces>)

    func next() async throws -> TranscriptionSegment? {
        switch self {
        case .whole(let transcription):
            var iterator = transcription.makeAsyncIterator()
            return try await iterator.next()
        case .live(let transcription):
            var iterator = transcription.makeAsyncIterator()
            return try await iterator.next()
        }
    }

    /// The seconds of sound whose segments are computed.
    var secondsDone: Double {
        switch self {
        case .whole(let transcription): transcription.secondsDone
        case .live(let transcription): transcription.secondsDone
        }
    }

    /// The seconds of the whole sound; nil while it goes on.
    var duration: Double? {
        switch self {
        case .whole(let transcription): transcription.duration
        case .live: nil
        }
    }

    var language: String? {
        switch self {
        case .whole(let transcription): transcription.language
        case .live(let transcription): transcription.language
        }
    }

    var secondsWithoutSpeech: Double {
        switch self {
        case .whole(let transcription): transcription.secondsWithoutSpeech
        case .live(let transcription): transcription.secondsWithoutSpeech
        }
    }
}
