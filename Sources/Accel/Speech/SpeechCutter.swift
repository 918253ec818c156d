import AccelAudio

/// Cuts a sound that arrives frame by frame. It holds the frames of the window that has begun, and no others.
struct SpeechCutter {
    /// The samples of a frame, and those of a second.
    let frame, rate: Int
    /// Speech begins with a frame of at least the first score, and goes on in frames of at least the second one.
    private let scores: (begin: Double, stay: Double)
    /// In frames.
    private let pause, longest, margin: Int
    /// The frames of a pause between words, where a window may be cut.
    private static let shortestPause = 3
    /// The frames that are not cut off yet, and their scores.
    private var samples: [Float] = []
    private var known: [Double] = []
    /// The samples before them.
    private var position = 0
    /// The first and the last of the frames with speech; nil where none has some.
    private var speech: ClosedRange<Int>?

    init(frame: Int, rate: Int, scores: (begin: Double, stay: Double), _ options: SpeechWindowOptions) {
        (self.frame, self.rate, self.scores) = (frame, rate, scores)
        func frames(_ seconds: Double) -> Int { Int((seconds * Double(rate) / Double(frame)).rounded()) }
        (pause, longest, margin) = (
            max(frames(options.pause), 1), max(frames(options.longest), 2), frames(options.margin)
        )
    }

    /// Takes over the next frame.
    /// - Returns: the window that ends with it; nil for none.
    mutating func append(_ new: some Sequence<Float>, score: Double) -> SpeechWindow? {
        samples += new
        let index = known.count
        known.append(score)
        if score >= (speech == nil ? scores.begin : scores.stay) { speech = (speech?.lowerBound ?? index)...index }
        guard let speech else {
            if known.count > margin { skip(known.count - margin) }
            return nil
        }
        if index - speech.upperBound >= pause { return window(of: min(speech.upperBound + margin, index) + 1) }
        return known.count >= longest ? window(of: cut) : nil
    }

    /// Returns the window that has begun; nil for silence.
    /// - Parameter rest: the samples after the last frame, fewer than a frame.
    mutating func finish(_ rest: some Sequence<Float>) -> SpeechWindow? {
        guard speech != nil else { return nil }
        samples += rest
        return take(samples.count)
    }

    /// The frame at which a window is cut that is too long: the middle of its longest pause, the first quarter aside, else the quietest
    /// frame of its last quarter.
    private var cut: Int {
        let quarter = max(known.count / 4, 1)
        var (longest, start) = (0..<0, quarter)
        for index in quarter...known.count where index == known.count || known[index] >= scores.stay {
            if index - start >= max(longest.count, 1) { longest = start..<index }
            start = index + 1
        }
        if longest.count >= Self.shortestPause { return longest.lowerBound + longest.count / 2 }
        let first = known.count - quarter
        return max((first..<known.count).min { known[$0] < known[$1] } ?? first, 1)
    }

    /// Cuts off some frames as a window.
    private mutating func window(of count: Int) -> SpeechWindow {
        let window = take(count * frame)
        known.removeFirst(count)
        let rest = known.indices.filter { known[$0] >= scores.stay }
        speech = rest.first.map { $0...rest[rest.count - 1] }
        if speech == nil, known.count > margin { skip(known.count - margin) }
        return window
    }

    private mutating func take(_ count: Int) -> SpeechWindow {
        let start = Double(position) / Double(rate)
        let part = Array(samples[..<count])
        samples.removeFirst(count)
        position += count
        return SpeechWindow(start: start, sound: Sound(frames: part, sampleRate: rate))
    }

    private mutating func skip(_ frames: Int) {
        samples.removeFirst(frames * frame)
        known.removeFirst(frames)
        position += frames * frame
    }
}
