import Accel
import AccelByteIO
import AccelFrontEnds
import AccelPlatform
import AccelVerification

/// Perplexity and divergence by the protocol of llama.cpp's perplexity tool: the tokens of the whole text in chunks of equal length, each
/// with the first token replaced by that of a text's beginning where the tokenizer adds one; the second half of each chunk counts.
struct LanguageModelEvaluation {
    private let evaluation: TextEvaluation
    private let model, original: AccelModel

    init(_ evaluation: TextEvaluation, _ model: AccelModel, _ original: AccelModel) {
        (self.evaluation, self.model, self.original) = (evaluation, model, original)
    }

    func run(_ progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> QualityFinding {
        let longest = min(model.positionCount ?? 0, original.positionCount ?? 0)
        let context = min(evaluation.context ?? TextEvaluation.defaultContext, longest)
        let frontEnd = try original.text()
        let start = try frontEnd.startToken()
        let tokens = try frontEnd.tokens(of: evaluation.text(by: frontEnd))
        let count = min(tokens.count / max(context, 1), evaluation.chunks ?? .max)
        guard context >= 4, count > 0 else {
            throw RequestError("\(evaluation.path) has \(tokens.count) tokens; a chunk has \(context)")
        }
        let sessions = (try model.makeSession(), try original.makeSession())
        var sums = (own: 0.0, original: 0.0)
        var (divergences, equal): ([Double], Int) = ([], 0)
        for number in 0..<count {
            var chunk = Array(tokens[number * context..<(number + 1) * context])
            if let start { chunk[0] = start }
            let first = context / 2
            let scored = first..<context - 1
            var references: [Distribution] = []
            try await sessions.1.logits(of: chunk, at: scored) { position, logits throws(AccelError) in
                references.append(Distribution(logits))
                sums.original -= references[position - first].logProbability(of: Int(chunk[position + 1]))
            }
            try await sessions.0.logits(of: chunk, at: scored) { position, logits throws(AccelError) in
                let (own, reference) = (Distribution(logits), references[position - first])
                sums.own -= own.logProbability(of: Int(chunk[position + 1]))
                divergences.append(reference.divergence(to: own))
                if own.top == reference.top { equal += 1 }
            }
            progress(number + 1, count)
        }
        divergences.sort()
        let scored = Double(divergences.count)
        let perplexity = (own: exp(sums.own / scored), original: exp(sums.original / scored))
        return QualityFinding(
            text: "\(evaluation.name), \(Wording.count(count, "chunk")) of \(context) tokens",
            figures: [
                .init(.perplexity, perplexity.own, original: perplexity.original),
                .init(.perplexityRatio, perplexity.own / perplexity.original),
                .init(.klDivergence, divergences.reduce(0, +) / scored),
                .init(.klDivergence99, percentile(0.99, of: divergences)),
                .init(.klDivergenceMaximum, divergences.last ?? 0), .init(.equalTopTokens, Double(equal) / scored),
            ])
    }
}

/// The probabilities of the next token.
struct Distribution {
    private let logits: [Float]
    private let logTotal: Double
    /// The likeliest token; the first one of equal ones.
    let top: Int

    init(_ span: Span<Float>) {
        var best = 0
        for index in span.indices where span[index] > span[best] { best = index }
        let largest = span[best]
        var total = 0.0
        for index in span.indices { total += exp(Double(span[index] - largest)) }
        (logits, top, logTotal) = (span.indices.map { span[$0] }, best, Double(largest) + log(total))
    }

    func logProbability(of token: Int) -> Double { Double(logits[token]) - logTotal }

    /// The Kullback-Leibler divergence from this distribution to another one, in nats: the sum of p log(p/q).
    func divergence(to other: Distribution) -> Double {
        var sum = 0.0
        for index in logits.indices {
            let own = Double(logits[index]) - logTotal
            // Smaller probabilities add nothing that a sum of doubles shows.
            guard own > -40 else { continue }
            sum += exp(own) * (own - other.logProbability(of: index))
        }
        return max(sum, 0)
    }
}

/// Returns a percentile of sorted values, between the two nearest ones.
func percentile(_ share: Double, of sorted: [Double]) -> Double {
    guard let last = sorted.last else { return 0 }
    let place = share * Double(sorted.count - 1)
    let index = Int(place)
    guard index + 1 < sorted.count else { return last }
    return sorted[index] + (place - Double(index)) * (sorted[index + 1] - sorted[index])
}
