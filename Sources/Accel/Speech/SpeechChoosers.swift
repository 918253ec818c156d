import AccelByteIO
import AccelFrontEnds
import AccelPlatform

/// Chooses the tokens of a window by the rules of transcripts, and keeps their log-probabilities.
final class TranscriptChooser: TokenChooser {
    private let rules: [any LogitRule]
    /// The number of tokens before those of the window.
    private let promptCount: Int
    private let state: Locked<(sampler: Sampler, logProbabilities: [Double])>

    init(_ rules: [any LogitRule], after promptCount: Int, by sampler: Sampler) {
        (self.rules, self.promptCount) = (rules, promptCount)
        state = Locked((sampler, []))
    }

    /// The log-probabilities of the chosen tokens, among those that the rules allow and at a temperature of 1.
    var logProbabilities: [Double] { state.withLock { $0.logProbabilities } }

    func choose(from logits: Span<Float>, after tokens: [Int64]) throws(AccelError) -> Int64 {
        var masked = logits.indices.map { logits[$0] }
        for rule in rules { rule.mask(&masked, after: tokens.dropFirst(promptCount)) }
        let allowed = masked
        return try state.withLock { state throws(AccelError) in
            let token = try state.sampler.choose(from: allowed.span)
            state.logProbabilities.append(Double(allowed[Int(token)]) - logSumExp(allowed.span))
            return token
        }
    }
}

/// Reads the probabilities of the token after the start: that of no speech, and the likeliest language.
final class StartChooser: TokenChooser {
    private let noSpeech: Int64
    private let languages: [Int64]
    private let state = Locked<(noSpeech: Float, language: Int64?)>((0, nil))

    /// - Parameter languages: their tokens.
    init(noSpeech: Int64, languages: some Sequence<Int64>) {
        // Of equal ones always the same.
        (self.noSpeech, self.languages) = (noSpeech, languages.sorted())
    }

    /// The probability of no speech.
    var noSpeechProbability: Float { state.withLock { $0.noSpeech } }
    /// The token of the likeliest language; nil without languages.
    var language: Int64? { state.withLock { $0.language } }

    func choose(from logits: Span<Float>, after _: [Int64]) throws(AccelError) -> Int64 {
        // Rejects logits that are no numbers.
        var greedy = Sampler(.greedy)
        let likeliest = try greedy.choose(from: logits)
        func logit(_ token: Int64) -> Float {
            Int(exactly: token).flatMap { logits.indices.contains($0) ? logits[$0] : nil } ?? -.infinity
        }
        let probability = exp(Double(logit(noSpeech)) - logSumExp(logits))
        let language = languages.max { logit($0) < logit($1) }
        state.withLock { $0 = (Float(probability), language) }
        return likeliest
    }
}

/// The logarithm of the sum of the exponentials of numbers; minus infinity if none is larger.
func logSumExp(_ values: Span<Float>) -> Double {
    var largest = -Float.infinity
    for index in values.indices where values[index] > largest { largest = values[index] }
    guard largest.isFinite else { return Double(largest) }
    var sum = 0.0
    for index in values.indices where values[index] > -.infinity { sum += exp(Double(values[index] - largest)) }
    return Double(largest) + log(sum)
}
