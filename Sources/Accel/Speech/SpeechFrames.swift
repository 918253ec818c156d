import AccelAudio
import AccelByteIO
import AccelPlatform

/// The frames of a sound that arrives in pieces, with scores that tell speech.
struct SpeechFrames {
    private var cutter: SpeechCutter
    /// nil where frames have the rate of the pieces.
    private var resampler: StreamedResampler?
    /// nil where the level tells speech.
    private let detector: SpeechDetector?
    /// The samples that are no whole frame yet, after those that the detector has to see before them.
    private var waiting: [Float]
    private let context: Int

    /// - Throws: `AccelError`: (invalid) for a rate that cannot be converted; (unsupported) for a model that detects no speech.
    init(from rate: Int, _ options: SpeechWindowOptions, _ model: AccelModel?) throws(AccelError) {
        guard let model else {
            let power = pow(10, options.quietLevel / 10)
            cutter = SpeechCutter(frame: max(rate / 50, 1), rate: rate, scores: (power, power), options)
            (detector, resampler, context, waiting) = (nil, nil, 0, [])
            return
        }
        let usual = VoiceActivityOptions()
        cutter = SpeechCutter(
            frame: SpeechDetector.chunk, rate: SpeechDetector.rate,
            scores: (Double(usual.threshold), Double(usual.endThreshold)), options)
        detector = try SpeechDetector(model)
        context = SpeechDetector.context
        waiting = [Float](repeating: 0, count: context)
        do {
            resampler =
                rate == SpeechDetector.rate ? nil : try StreamedResampler(from: rate, to: SpeechDetector.rate)
        } catch { throw AccelError(error, at: "the sound") }
    }

    /// Takes over a piece.
    /// - Returns: the windows that end in it.
    mutating func append(_ piece: Sound) async throws(AccelError) -> [SpeechWindow] {
        do {
            let samples = try piece.samples(at: piece.sampleRate)
            waiting += resampler?.append(samples) ?? samples
        } catch { throw AccelError(error, at: "the sound") }
        return try await windows()
    }

    /// Returns the last windows.
    mutating func finish() async throws(AccelError) -> [SpeechWindow] {
        waiting += resampler?.finish() ?? []
        var found = try await windows()
        if let last = cutter.finish(waiting[context...]) { found.append(last) }
        return found
    }

    /// Cuts off whole frames.
    private mutating func windows() async throws(AccelError) -> [SpeechWindow] {
        var found: [SpeechWindow] = []
        var start = context
        while start + cutter.frame <= waiting.count {
            let frame = waiting[start..<start + cutter.frame]
            let score: Double
            if let detector {
                score = Double(try await detector.probability(of: waiting[start - context..<start + cutter.frame]))
            } else {
                score = frame.reduce(0) { $0 + Double($1) * Double($1) } / Double(frame.count)
            }
            if let window = cutter.append(frame, score: score) { found.append(window) }
            start += cutter.frame
        }
        waiting.removeFirst(start - context)
        return found
    }
}
