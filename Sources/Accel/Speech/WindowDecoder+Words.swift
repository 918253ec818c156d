import AccelAudio
import AccelByteIO
import AccelFrontEnds
import AccelPlatform
import AccelText

extension WindowDecoder {
    /// Returns the words of each part of the window that was decoded last. Times are seconds from the beginning of the window.
    /// - Parameters:
    ///   - language: the code of the spoken language.
    ///   - length: the frames of the window's sound.
    /// - Throws: `AccelError` (unsupported) for a text that no function takes, or without one; and the backend's.
    func words(
        of window: WindowParts, in decoded: DecodedWindow, _ language: String?, _ length: Int
    ) async throws(AccelError) -> [[TranscriptionSegment.Word]] {
        // The parts are the window's tokens, one after the other.
        var probabilities = decoded.logProbabilities.map { exp($0) }[...]
        var spoken: [(token: Int64, probability: Double)] = []
        let counts = window.parts.map { part in
            let own = zip(part.tokens, probabilities.prefix(part.tokens.count)).filter { $0.0 < tokens.end }
            probabilities = probabilities.dropFirst(part.tokens.count)
            spoken += own.map { ($0.0, $0.1) }
            return own.count
        }
        guard !spoken.isEmpty else { return window.parts.map { _ in [] } }
        let starts = try await starts(of: spoken.map(\.token), language, length)
        let written = options.task == .translate ? "en" : language
        var first = 0
        var words = counts.map { count in
            defer { first += count }
            let own = spoken[first..<first + count]
            let ids = own.map { TokenID(clamping: $0.token) }
            return TokenWord.words(of: ids, by: tokenizer, language: written).map { word in
                let tokens = first + word.tokens.lowerBound..<first + word.tokens.upperBound
                let sum = spoken[tokens].reduce(0) { $0 + $1.probability }
                return TranscriptionSegment.Word(
                    text: word.text, start: starts[tokens.lowerBound], end: starts[tokens.upperBound],
                    probability: sum / Double(max(tokens.count, 1)))
            }
        }
        WordLengths(words.flatMap(\.self)).limit(&words)
        return words.map(TokenWord.joiningMarks)
    }

    /// Returns the time at which each token of a text begins, in seconds, and the time of the text's end.
    private func starts(
        of text: [Int64], _ language: String?, _ length: Int
    ) async throws(AccelError) -> [Double] {
        let before = request(in: language)
        let sequence = before + [tokens.noTimestamps] + text + [tokens.end]
        guard let aligner = functions.aligners.first(where: { $0.tokens.shape.count >= sequence.count }) else {
            let longest = functions.aligners.last?.tokens.shape.count ?? 0
            throw AccelError(
                .unsupported, expected: "texts of at most \(longest) tokens", found: "\(sequence.count)",
                at: "the times of words")
        }
        let padding = Array(repeating: tokens.end, count: aligner.tokens.shape.count - sequence.count)
        let outputs = try await session.prediction(
            of: aligner.function.name,
            from: [aligner.tokens.name: try AccelTensor(sequence + padding, 1, aligner.tokens.shape.count)],
            options: RunOptions(timeLimit: deadline.left, outputs: [aligner.scores.name]))
        let sizes = aligner.scores.shape.dimensions
        let step = functions.framesPerState
        let states = min(max((length + step - 1) / step, 1), sizes[3])
        // The token before the text attends to where the text begins, and the last one to where it ends.
        let kept = before.count..<before.count + text.count + 1
        let alignment = try outputs[aligner.scores.name].withSpan(of: Float.self) { scores throws(AccelError) in
            TokenAlignment(
                scores, .init(heads: sizes[1], rows: sizes[2], states: sizes[3]), tokens: sequence.count,
                states: states,
                kept: kept)
        }
        let extractor = functions.extractor
        return alignment.starts.map { Double($0 * step * extractor.hop) / Double(extractor.sampleRate) }
    }
}

extension Diagnostic.Code {
    /// Times of words are asked of a package without a function that tells them.
    package static let noWordTimes: Self = "no-word-times"
}

/// Limits words beside the end of a sentence, which may have a part of the pause.
struct WordLengths {
    /// Twice the median of the words' lengths, in seconds.
    private let longest: Double
    private static let longestMedian = 0.7

    init(_ words: [TranscriptionSegment.Word]) {
        let lengths = words.map { $0.end - $0.start }.filter { $0 > 0 }.sorted()
        let middle = lengths.count / 2
        let median =
            lengths.isEmpty
            ? 0 : lengths.count.isMultiple(of: 2) ? (lengths[middle - 1] + lengths[middle]) / 2 : lengths[middle]
        longest = 2 * min(median, Self.longestMedian)
    }

    func limit(_ parts: inout [[TranscriptionSegment.Word]]) {
        guard longest > 0 else { return }
        var before = ""
        for part in parts.indices {
            for index in parts[part].indices {
                let word = parts[part][index]
                if word.end - word.start > longest, part > 0 || index > 0 {
                    if TokenWord.endMarks.contains(word.text) {
                        parts[part][index].end = word.start + longest
                    } else if TokenWord.endMarks.contains(before) {
                        parts[part][index].start = word.end - longest
                    }
                }
                before = word.text
            }
        }
    }
}
