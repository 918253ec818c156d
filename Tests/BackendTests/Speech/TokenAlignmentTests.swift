import Testing

@testable import Accel

@Suite("Times of words")
struct TokenAlignmentTests {
    /// One head with a score at one state for each token.
    private func starts(_ peaks: [Int], states: Int, tokens: Int? = nil) -> [Int] {
        let (rows, columns) = (peaks.count + 2, states + 3)
        var scores = [Float](repeating: 0, count: rows * columns)
        for (row, peak) in peaks.enumerated() {
            for state in max(peak - 3, 0)...min(peak + 3, states - 1) { scores[row * columns + state] = 8 }
        }
        // Neither other rows nor other states count.
        for row in rows - 2..<rows { scores[row * columns + 1] = 50 }
        for row in 0..<rows { scores[row * columns + states] = 90 }
        return TokenAlignment(
            scores.span, .init(heads: 1, rows: rows, states: columns), tokens: peaks.count, states: states,
            kept: 0..<peaks.count
        ).starts
    }

    @Test("tokens begin where their heads attend to, in order")
    func order() {
        let found = starts([4, 14, 24, 34], states: 40)
        #expect(found[0] == 0 && found == found.sorted())
        for (start, peak) in zip(found.dropFirst(), [14, 24, 34]) { #expect(abs(start - peak) <= 7, "\(found)") }
        // What goes back in time has no time of its own.
        let back = starts([4, 30, 10, 34], states: 40)
        #expect(back == back.sorted())
    }

    @Test("one token, and fewer states than are smoothed over, have times all the same")
    func small() {
        #expect(starts([2], states: 5) == [0])
        let narrow = starts([0, 0, 1], states: 2)
        #expect(narrow[0] == 0 && narrow == narrow.sorted() && narrow[2] <= 1)
        #expect(starts([0], states: 1) == [0])
    }

    private func word(_ text: String, _ start: Double, _ end: Double) -> TranscriptionSegment.Word {
        TranscriptionSegment.Word(text: text, start: start, end: end, probability: 1)
    }

    @Test("marks belong to the word beside them, and leave its time as it is")
    func marks() {
        let words = [
            word(" (", 0, 0.1), word(" Hello", 0.1, 0.5), word(",", 0.5, 0.9), word(" \"", 0.9, 1),
            word("world", 1, 1.5),
            word("!", 1.5, 2), word("\"", 2, 2.1), word(" -", 2.1, 2.2),
        ]
        #expect(
            TokenWord.joiningMarks(words) == [
                word(" ( Hello,", 0.1, 0.5), word(" \"world!\" -", 1, 1.5),
            ])
        #expect(TokenWord.joiningMarks([word(".", 0, 1), word(" a", 1, 2)]) == [word(".", 0, 1), word(" a", 1, 2)])
    }

    @Test("a word beside the end of a sentence takes at most twice the median")
    func lengths() {
        var parts = [
            [word(" a", 0, 0.25), word(" b", 0.25, 0.5), word(".", 0.5, 3)], [word(" c", 3, 6), word(" d", 6, 9)],
            [word(" e", 9, 9.25), word(" f", 9.25, 9.5)],
        ]
        let all = parts.flatMap(\.self)
        WordLengths(all).limit(&parts)
        #expect(parts[0][2] == word(".", 0.5, 1) && parts[1][0] == word(" c", 5.5, 6))
        #expect(parts[1][1] == word(" d", 6, 9) && parts[2] == Array(all.suffix(2)))
        var none: [[TranscriptionSegment.Word]] = [[]]
        WordLengths([]).limit(&none)
        #expect(none == [[]])
    }
}
