import AccelByteIO

/// The tokens of a window, and the measures of how good they are.
struct DecodedWindow: Equatable, Sendable {
    /// The tokens without the end.
    var tokens: [Int64]
    /// The log-probability of each token.
    var logProbabilities: [Double] = []
    /// The text of the tokens, without white space around it.
    var text: String
    var temperature: Float
    /// The mean over the tokens and the end.
    var meanLogProbability: Double
    var noSpeechProbability: Float
    /// The bytes of the text by those of its zlib stream.
    var compressionRatio: Double

    /// Returns the bytes of a text by those of its zlib stream: the more a text repeats itself, the larger.
    static func compressionRatio(of text: String) throws -> Double {
        let bytes = Array(text.utf8)
        return Double(bytes.count) / Double(try Deflate.zlibSize(of: bytes))
    }
}

extension TranscriptionOptions {
    /// Whether a window has no speech: the model says so, and its tokens are improbable.
    func isSilence(_ window: DecodedWindow) -> Bool {
        window.noSpeechProbability > noSpeechLimit && window.meanLogProbability <= logProbabilityLimit
    }

    /// Whether a window is decoded again at the next temperature: it has speech, and its text repeats itself or is improbable.
    func rejects(_ window: DecodedWindow) -> Bool {
        let isPoor =
            window.compressionRatio > compressionRatioLimit || window.meanLogProbability < logProbabilityLimit
        return isPoor && !isSilence(window)
    }

    /// Returns the most probable window of those that were rejected at all temperatures, of texts without repetitions if there are any;
    /// nil for none. (OpenAI's code takes the last one, whose tokens are the most random ones; faster-whisper takes this one.)
    func best(of windows: [DecodedWindow]) -> DecodedWindow? {
        let plain = windows.filter { $0.compressionRatio <= compressionRatioLimit }
        return (plain.isEmpty ? windows : plain).max { $0.meanLogProbability < $1.meanLogProbability }
    }
}

/// The parts of a window that times bound.
struct WindowParts: Equatable, Sendable {
    struct Part: Equatable, Sendable {
        let tokens: [Int64]
        /// In frames from the beginning of the window.
        let start, end: Int
    }
    private(set) var parts: [Part] = []
    /// The frame at which the next window begins.
    private(set) var next: Int

    /// Cuts the tokens of a window between two times. A window that ends with two times is cut off in the text after them, so that the
    /// next one begins there; any other one is complete.
    /// - Parameters:
    ///   - first: the token of the time 0.
    ///   - step: the frames from a time to the next one.
    ///   - length: the frames of the window's sound.
    init(_ tokens: [Int64], first: Int64, step: Int, length: Int) {
        func frame(_ token: Int64) -> Int { Int(token - first) * step }
        next = length
        let isTime = tokens.map { $0 >= first }
        var cuts = tokens.indices.dropFirst().filter { isTime[$0] && isTime[$0 - 1] }
        guard !cuts.isEmpty else {
            let last = tokens.last { $0 >= first }
            // A time of 0 at the end bounds nothing.
            let end = last.flatMap { $0 > first ? frame($0) : nil }
            parts = [Part(tokens: tokens, start: 0, end: end ?? length)]
            return
        }
        let endsInOneTime = Array(isTime.suffix(2)) == [false, true]
        if endsInOneTime { cuts.append(tokens.count) }
        var start = 0
        for cut in cuts {
            let part = Array(tokens[start..<cut])
            parts.append(Part(tokens: part, start: frame(part[0]), end: frame(part[part.count - 1])))
            start = cut
        }
        let last = parts[parts.count - 1].end
        // A window always leads on.
        if !endsInOneTime, last > 0 { next = last }
    }
}
