import AccelFrontEnds

/// Makes segments of the tokens that a transducer emits in frames: words between pauses.
struct TransducerSegments: FrameSegments, Sendable {
    /// A token of a frame.
    struct Emission: Equatable, Sendable {
        let token: Int
        /// The frames that it lasts, at least 1.
        let length: Int
        let logProbability: Double
    }

    private let vocabulary: CTCVocabulary
    /// The frames without text that end a segment.
    private let pause: Int
    /// The number of the next frame.
    private var position = 0
    /// The words of the segment, each with the number of its tokens.
    private var words: [(word: CTCSegments.Segment.Word, tokens: Int)] = []
    private var tokens: [Int64] = []
    /// The last token had the sign of a word's start, and no text.
    private var isAfterMark = false

    init(_ vocabulary: CTCVocabulary, pause: Int) { (self.vocabulary, self.pause) = (vocabulary, max(pause, 1)) }

    mutating func restart() { (position, words, tokens, isAfterMark) = (0, [], [], false) }

    mutating func append(_ frame: [Emission]) -> CTCSegments.Segment? {
        var segment: CTCSegments.Segment?
        if let last = words.last, frame.allSatisfy({ vocabulary.text(of: $0.token).isEmpty }),
            position + 1 - last.word.frames.upperBound > pause
        {
            segment = finish()
        }
        for emission in frame { add(emission) }
        position += 1
        return segment
    }

    mutating func finish() -> CTCSegments.Segment? {
        guard let first = words.first, let last = words.last else { return nil }
        let sum = words.reduce(0) { $0 + $1.word.logProbability }
        let segment = CTCSegments.Segment(
            words: words.map { word, count in
                var word = word
                word.logProbability /= Double(count)
                return word
            }, tokens: tokens, frames: first.word.frames.lowerBound..<last.word.frames.upperBound,
            logProbability: sum / Double(words.reduce(0) { $0 + $1.tokens }))
        (words, tokens) = ([], [])
        return segment
    }

    private mutating func add(_ emission: Emission) {
        let (text, begins) = (vocabulary.text(of: emission.token), vocabulary.beginsWord(emission.token))
        tokens.append(Int64(emission.token))
        guard !text.isEmpty else {
            if begins { isAfterMark = true }
            return
        }
        let frames = position..<position + emission.length
        let isMarked = begins || isAfterMark
        isAfterMark = false
        guard let last = words.last, !isMarked else {
            let word = CTCSegments.Segment.Word(
                text: text, frames: frames, logProbability: emission.logProbability, isContinued: !isMarked)
            words.append((word, 1))
            return
        }
        let index = words.count - 1
        words[index].word.text += text
        words[index].word.frames =
            last.word.frames.lowerBound..<max(last.word.frames.upperBound, frames.upperBound)
        words[index].word.logProbability += emission.logProbability
        words[index].tokens += 1
    }
}
