import Testing

@testable import Accel

/// A vocabulary of 14: texts 0 to 3, the end 4, special tokens 5 and 6, no times 7, and times 8 to 13.
@Suite("The rules of transcripts")
struct LogitRuleTests {
    private static let rule = TimestampRule(end: 4, first: 8, noTimestamps: 7, lastInitial: 2)

    /// The tokens that a rule allows.
    private func allowed(_ rule: some LogitRule, _ logits: [Float], after tokens: [Int64]) -> [Int] {
        var masked = logits
        rule.mask(&masked, after: tokens[...])
        for (old, new) in zip(logits, masked) { #expect(new == old || new == -.infinity) }
        return masked.indices.filter { masked[$0] > -.infinity }
    }

    /// Text tokens so probable that times are never preferred.
    private static let ofText = [Float](repeating: 9, count: 4) + [Float](repeating: 0, count: 10)

    @Test(
        "times come in pairs around texts and never go back, and a window begins with a time",
        arguments: [
            // First a time, of at most 2.
            ([], [8, 9, 10]),
            // Then a text: its first time stands alone.
            ([8], [0, 1, 2, 3, 4, 5, 6]), ([10], [0, 1, 2, 3, 4, 5, 6]),
            // A text goes on, ends, or has a time after that of its beginning.
            ([8, 1], [0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13]), ([10, 1, 2], [0, 1, 2, 3, 4, 5, 6, 11, 12, 13]),
            // After the second time of a pair the next text begins there or later, or the window ends. Three times together are more
            // probable than the end.
            ([8, 1, 11], [11, 12, 13]), ([8, 1, 13], [4, 5, 6, 13]),
            // A text follows the pair.
            ([8, 1, 11, 11], [0, 1, 2, 3, 4, 5, 6]), ([8, 1, 11, 12], [0, 1, 2, 3, 4, 5, 6]),
            ([8, 1, 11, 12, 2], [0, 1, 2, 3, 4, 5, 6, 13]), ([8, 1, 11, 13, 2], [0, 1, 2, 3, 4, 5, 6]),
        ] as [([Int64], [Int])])
    func order(_ tokens: [Int64], _ expected: [Int]) {
        #expect(allowed(Self.rule, Self.ofText, after: tokens) == expected)
    }

    @Test(
        "a time is chosen where the sum of the probabilities of times is above that of the likeliest other token",
        arguments: [
            // Of five times 9 to 13 with the probability 1: their sum is 5.
            (4.9, true), (5.1, false),
        ] as [(Double, Bool)])
    func sums(_ text: Double, _ isTime: Bool) {
        var logits = [Float](repeating: -20, count: 8) + [Float](repeating: 0, count: 6)
        // log(4.9) and log(5.1).
        logits[1] = text == 4.9 ? 1.58924 : 1.62924
        let found = allowed(Self.rule, logits, after: [8, 1])
        #expect(found == (isTime ? [9, 10, 11, 12, 13] : [0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13]))
    }

    @Test(
        "suppressed tokens are never chosen, and those of the beginning not first; numbers beyond the vocabulary are no tokens"
    )
    func suppressed() {
        let logits = [Float](repeating: 1, count: 4)
        #expect(allowed(SuppressedTokens(tokens: [0, 2, 99, -1]), logits, after: []) == [1, 3])
        #expect(allowed(SuppressedTokens(tokens: [0, 2]), logits, after: [1]) == [1, 3])
        #expect(allowed(SuppressedFirstTokens(tokens: [0, 2]), logits, after: []) == [1, 3])
        #expect(allowed(SuppressedFirstTokens(tokens: [0, 2]), logits, after: [1]) == [0, 1, 2, 3])
        // A vocabulary without times.
        #expect(allowed(Self.rule, logits, after: []) == [])
        #expect(allowed(Self.rule, logits, after: [8, 1]) == [0, 1, 2, 3])
    }

    @Test("log-probabilities are those of the allowed tokens; the first choice reads the start")
    func probabilities() throws {
        // Shares 1, 2, 4, and a token that is not allowed.
        let logits: [Float] = [0, 0.6931472, 1.3862944, 9]
        let chooser = TranscriptChooser([SuppressedTokens(tokens: [3])], after: 2, by: Sampler(.greedy))
        for count in 1...2 {
            #expect(try chosen(by: chooser, logits, after: [5, 6]) == 2)
            // log(4 / 7) each.
            #expect(abs(chooser.logProbabilities.reduce(0, +) + Double(count) * 0.5596158) < 1e-6)
        }
        let first = TranscriptChooser([SuppressedFirstTokens(tokens: [3])], after: 2, by: Sampler(.greedy))
        #expect(try chosen(by: first, logits, after: [5, 6]) == 2)
        #expect(try chosen(by: first, logits, after: [5, 6, 2]) == 3)
        let start = StartChooser(noSpeech: 1, languages: [0, 2])
        _ = try chosen(by: start, Array(logits.prefix(3)), after: [])
        #expect(abs(start.noSpeechProbability - 2.0 / 7) < 1e-6 && start.language == 2)
        let unknown = StartChooser(noSpeech: 9, languages: [])
        _ = try chosen(by: unknown, logits, after: [])
        #expect(unknown.noSpeechProbability == 0 && unknown.language == nil)
        #expect(throws: AccelError.self) { try chosen(by: start, [.nan], after: []) }
    }

    private func chosen(by chooser: any TokenChooser, _ logits: [Float], after tokens: [Int64]) throws -> Int64 {
        var chooser = chooser
        return try chooser.choose(from: logits.span, after: tokens)
    }
}
