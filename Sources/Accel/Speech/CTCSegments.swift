import AccelFrontEnds

/// Makes segments of the tokens of frames: words between pauses.
struct CTCSegments: FrameSegments {
    /// A frame with its likeliest token.
    struct Frame: Equatable, Sendable {
        let token: Int
        /// The log-probability of the token.
        let logProbability: Double
    }
    /// A segment, in frames.
    struct Segment: Equatable, Sendable {
        struct Word: Equatable, Sendable {
            var text: String
            var frames: Range<Int>
            /// The mean of its frames' log-probabilities.
            var logProbability: Double
            /// The text goes on with the word before it: only for models whose tokens are pieces of words.
            var isContinued = false
        }
        var words: [Word]
        /// Without blanks and repetitions.
        var tokens: [Int64]
        var frames: Range<Int>
        var logProbability: Double
    }

    private let vocabulary: CTCVocabulary
    /// The frames without a character that end a segment.
    private let pause: Int
    private var frames: [Frame] = []
    /// The number of the first of `frames` in the sound.
    private var position = 0
    /// The last of `frames` with a character.
    private var lastSpoken: Int?
    /// A token between segments has the sign of a word's start, and no text.
    private var isAfterMark = false

    init(_ vocabulary: CTCVocabulary, pause: Int) { (self.vocabulary, self.pause) = (vocabulary, max(pause, 1)) }

    /// Goes on with the first frame of another sound.
    mutating func restart() { (frames, position, lastSpoken, isAfterMark) = ([], 0, nil, false) }

    /// Takes over the next frame.
    /// - Returns: the segment that ends with it; nil for none.
    mutating func append(_ frame: Frame) -> Segment? {
        if !vocabulary.text(of: frame.token).isEmpty {
            lastSpoken = frames.count
        } else if lastSpoken == nil {
            // A blank between equal characters parts them, but not one before all.
            position += 1
            if vocabulary.beginsWord(frame.token) { isAfterMark = true }
            return nil
        }
        frames.append(frame)
        guard let lastSpoken, frames.count - lastSpoken > pause else { return nil }
        return finish()
    }

    /// Returns the segment that has begun; nil for none. The next frame begins another one.
    mutating func finish() -> Segment? {
        guard let lastSpoken else { return nil }
        let segment = segment(of: frames[...lastSpoken])
        position += frames.count
        isAfterMark = frames[(lastSpoken + 1)...].contains { vocabulary.beginsWord($0.token) }
        (frames, self.lastSpoken) = ([], nil)
        return segment
    }

    private func segment(of frames: ArraySlice<Frame>) -> Segment {
        var words: [(word: Segment.Word, frames: Int)] = []
        var tokens: [Int64] = []
        var (isNewWord, isMarked, last): (Bool, Bool, Int?) = (true, isAfterMark, nil)
        for (index, frame) in frames.enumerated() {
            let place = position + index
            defer { last = frame.token }
            let isRepeated = frame.token == last
            if frame.token == vocabulary.delimiter { isNewWord = true }
            if !isRepeated, vocabulary.beginsWord(frame.token) { (isNewWord, isMarked) = (true, true) }
            if frame.token != vocabulary.blank, !isRepeated { tokens.append(Int64(frame.token)) }
            let text = vocabulary.text(of: frame.token)
            guard !text.isEmpty else { continue }
            if isNewWord {
                let word = Segment.Word(
                    text: text, frames: place..<place + 1, logProbability: frame.logProbability,
                    isContinued: vocabulary.wordMark != nil && !isMarked)
                words.append((word, 1))
                (isNewWord, isMarked) = (false, false)
                continue
            }
            let end = words.count - 1
            if !isRepeated { words[end].word.text += text }
            words[end].word.frames = words[end].word.frames.lowerBound..<place + 1
            words[end].word.logProbability += frame.logProbability
            words[end].frames += 1
        }
        let sum = frames.reduce(0) { $0 + $1.logProbability }
        return Segment(
            words: words.map { word, count in
                var word = word
                word.logProbability /= Double(count)
                return word
            }, tokens: tokens, frames: position..<position + frames.count,
            logProbability: sum / Double(max(frames.count, 1)))
    }
}
