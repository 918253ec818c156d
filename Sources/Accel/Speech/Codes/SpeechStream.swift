public import AccelAudio
import AccelByteIO

/// A speech in pieces of sound that join exactly. Each piece is computed when it is asked for, so that a stream that nobody reads costs
/// nothing. A second iteration goes on where the first one ended.
public struct SpeechStream: AsyncSequence, Sendable {
    public typealias Element = Sound
    let speaker: CodeSpeaker

    /// Why and how the tokens of the speech ended; nil while they go on. After the largest number of tokens the text may not be over.
    public var summary: GenerationSummary? { speaker.stream.summary }
    /// The samples of all pieces so far.
    public var samplesDone: Int { speaker.samplesDone.withLock { $0 } }
    /// Samples per second of all pieces, which have one channel.
    public var sampleRate: Int { speaker.sampleRate }

    /// Asks for one piece after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let speaker: CodeSpeaker

        /// The next piece; nil after the last one.
        /// - Throws: `AccelError`: (cancelled) if the task was cancelled, (busy) if another iterator asks for a piece, and the backends'. A
        ///   time limit ends the stream after the sound of the tokens so far.
        public mutating func next() async throws(AccelError) -> Sound? { try await speaker.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(AccelError) -> Sound? {
            try await speaker.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(speaker: speaker) }
}

/// Reads the codes of a token stream, and turns them into sound.
actor CodeSpeaker {
    nonisolated let stream: TokenStream
    nonisolated let sampleRate: Int
    nonisolated let samplesDone = Locked(0)
    private var reader: CodeFrameReader
    private var vocoder: CodeVocoder
    private var (isAtWork, hasEnded) = (false, false)

    init(_ stream: TokenStream, _ reader: CodeFrameReader, _ vocoder: CodeVocoder) {
        (self.stream, self.reader, self.vocoder) = (stream, reader, vocoder)
        sampleRate = vocoder.sampleRate
    }

    func next() async throws(AccelError) -> Sound? {
        guard !isAtWork else {
            throw AccelError(.busy, "another iterator asks for a piece", at: "a speech")
        }
        isAtWork = true
        defer { isAtWork = false }
        var tokens = stream.makeAsyncIterator()
        while true {
            if let sound = try await piece() {
                samplesDone.withLock { $0 += sound.frameCount }
                return sound
            }
            guard !hasEnded else { return nil }
            while let token = try await tokens.next() {
                guard let frame = try reader.append(token) else { continue }
                try vocoder.append([frame])
                break
            }
            guard let reason = stream.summary?.reason else { continue }
            guard reason != .cancelled else { throw AccelError(.cancelled, "was cancelled", at: "a speech") }
            // A frame that is not whole has no sound.
            hasEnded = true
            vocoder.finish()
        }
    }

    private func piece() async throws(AccelError) -> Sound? {
        // Nobody else has the vocoder meanwhile.
        var vocoder = vocoder
        defer { self.vocoder = vocoder }
        return try await vocoder.next()
    }
}
