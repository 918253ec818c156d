public import AccelAudio
import AccelByteIO
import AccelPrograms

/// How the parts of a sound with speech are found.
public struct VoiceActivityOptions: Sendable {
    /// Speech begins in a chunk of at least this probability.
    public var threshold: Float = 0.5
    /// Speech ends in a chunk below this probability.
    public var endThreshold: Float = 0.35
    /// Shorter speech does not count, in seconds.
    public var shortestSpeech = 0.0
    /// A shorter pause does not end speech, in seconds.
    public var shortestPause = 2.0
    /// The seconds that are added before and after speech; half of a pause that is too short for both.
    public var padding = 0.4
    /// The time for the whole sound; nil for no limit.
    public var timeLimit: Duration?

    /// The options that faster-whisper has before transcripts.
    public init() {}

    /// - Throws: `AccelError` (invalid) for numbers without a meaning.
    func check() throws(AccelError) {
        let seconds = [shortestSpeech, shortestPause, padding]
        guard seconds.allSatisfy({ (0...1e6).contains($0) }), 0...1 ~= threshold, 0...threshold ~= endThreshold else {
            throw AccelError(
                .invalid, expected: "probabilities, the first one the larger, and seconds of 0 or more",
                found: "\(threshold), \(endThreshold) and \(seconds)", at: "options of a voice activity")
        }
    }
}

extension AccelModel {
    /// Finds the parts of a sound with speech, by a model such as Silero VAD. Samples, states and probabilities are those of its own code: chunks
    /// of 512 samples at 16 kHz, each after the last 64 samples of the one before.
    ///
    ///     let spoken = try await model.speech(in: try Sound(contentsOf: path))
    ///
    /// - Returns: the parts in seconds, in order; they do not overlap.
    /// - Throws: `AccelError`: (unsupported) for a model that is no such detector; (invalid) for a sound that cannot be resampled or samples that
    ///   are no sound; (cancelled); (timed out) once the time limit is over; and the backend's.
    public func speech(
        in sound: Sound, _ options: VoiceActivityOptions = VoiceActivityOptions()
    ) async throws(AccelError) -> [ClosedRange<Double>] {
        try options.check()
        let deadline = Deadline.started(after: options.timeLimit)
        let detector = try SpeechDetector(self)
        let samples: [Float]
        do {
            samples = try sound.samples(at: SpeechDetector.rate)
        } catch { throw AccelError(error, at: "the sound") }
        let probabilities = try await detector.probabilities(of: samples, until: deadline)
        return SpeechParts(probabilities, chunk: SpeechDetector.chunk, sampleCount: samples.count, options)
            .seconds
    }
}

/// A model that gives the probability of speech in one chunk after the other.
struct SpeechDetector {
    /// In samples per second, and in samples.
    static let (rate, chunk, context) = (16_000, 512, 64)
    private let function, input, output: String
    private let session: AccelSession

    init(_ model: AccelModel) throws(AccelError) {
        let fitting = model.functions.lazy.compactMap { function -> (String, String, String)? in
            guard function.role == .detect, function.inputs.count == 1, let input = function.input(.audio),
                input.shape.dimensions == [1, Self.context + Self.chunk], input.role.integer("rate") == Self.rate,
                let output = function.output(.probabilities), output.shape.count == 1
            else { return nil }
            return (function.name, input.name, output.name)
        }
        guard let first = fitting.first else {
            throw AccelError(
                .unsupported,
                "no function gives the probability of speech in \(Self.chunk) samples at \(Self.rate) Hz, as Silero VAD does",
                at: model.package.path)
        }
        (function, input, output) = first
        session = try model.makeSession()
    }

    /// Returns the probability of speech in each chunk; silence follows the last sample.
    func probabilities(of samples: [Float], until deadline: Deadline) async throws(AccelError) -> [Float] {
        var found: [Float] = []
        let frame = Self.context + Self.chunk
        for start in stride(from: 0, to: samples.count, by: Self.chunk) {
            var values = [Float](repeating: 0, count: frame)
            for index in max(start - Self.context, 0)..<min(start + Self.chunk, samples.count) {
                values[index - start + Self.context] = samples[index]
            }
            found.append(try await probability(of: values, until: deadline))
        }
        return found
    }

    /// Returns the probability of speech in the next chunk.
    /// - Parameter samples: its samples, after the last ones of the chunk before.
    func probability(
        of samples: some Collection<Float>, until deadline: Deadline = Deadline()
    ) async throws(AccelError) -> Float {
        let input = [self.input: try AccelTensor(Array(samples), 1, Self.context + Self.chunk)]
        let outputs = try await session.prediction(
            of: function, from: input, options: RunOptions(timeLimit: deadline.left))
        return try outputs[output].array(of: Float.self)[0]
    }
}

/// The parts of a sound with speech, in samples, by the probabilities of its chunks.
struct SpeechParts: Equatable {
    private(set) var parts: [Range<Int>] = []

    /// - Parameters:
    ///   - chunk: the samples of a chunk.
    ///   - sampleCount: the samples of the sound, whose last chunk may be shorter.
    init(_ probabilities: [Float], chunk: Int, sampleCount: Int, _ options: VoiceActivityOptions) {
        func count(_ seconds: Double) -> Int { Int(seconds * Double(SpeechDetector.rate)) }
        let (shortest, pause) = (count(options.shortestSpeech), count(options.shortestPause))
        var (start, silence): (Int?, Int?) = (nil, nil)
        func add(to end: Int) {
            if let start, end - start > shortest { parts.append(start..<end) }
        }
        for (index, probability) in probabilities.enumerated() {
            let position = index * chunk
            if probability >= options.threshold {
                silence = nil
                start = start ?? position
            } else if start != nil, probability < options.endThreshold {
                let end = silence ?? position
                silence = end
                guard position - end >= pause else { continue }
                add(to: end)
                (start, silence) = (nil, nil)
            }
        }
        add(to: sampleCount)
        pad(by: count(options.padding), within: sampleCount)
    }

    private mutating func pad(by padding: Int, within sampleCount: Int) {
        let bare = parts
        for index in bare.indices {
            let (before, after) = (
                index > 0 ? bare[index - 1].upperBound : nil, index + 1 < bare.count ? bare[index + 1].lowerBound : nil
            )
            /// The padding in a pause on one of its sides.
            func share(_ pause: Int) -> Int { pause < 2 * padding ? pause / 2 : padding }
            let start =
                bare[index].lowerBound
                - (before.map { share(bare[index].lowerBound - $0) } ?? min(padding, bare[index].lowerBound))
            let end =
                bare[index].upperBound
                + (after.map { share($0 - bare[index].upperBound) }
                    ?? min(padding, sampleCount - bare[index].upperBound))
            parts[index] = start..<end
        }
    }

    /// The parts in seconds.
    var seconds: [ClosedRange<Double>] {
        let rate = Double(SpeechDetector.rate)
        return parts.map { Double($0.lowerBound) / rate...Double($0.upperBound) / rate }
    }
}
