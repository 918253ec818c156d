import Accel
import AccelByteIO
import AccelFrontEnds
import AccelPlatform
import AccelVerification

/// Models that take whole texts, on each line of a text.
struct EncoderEvaluation {
    private let evaluation: TextEvaluation
    private let model, original: AccelModel
    private let lines: [String]

    init(_ evaluation: TextEvaluation, _ model: AccelModel, _ original: AccelModel, _ lines: [String]) {
        (self.evaluation, self.model, self.original, self.lines) = (evaluation, model, original, lines)
    }

    private var text: String { "\(evaluation.name), \(Wording.count(lines.count, "line"))" }

    /// The cosine of vectors with the original's, and whether similarities of texts stay in order.
    func vectors(_ progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> QualityFinding {
        let own = try await model.embed(lines, truncates: true)
        progress(lines.count, 2 * lines.count)
        let originals = try await original.embed(lines, truncates: true)
        progress(2 * lines.count, 2 * lines.count)
        let cosines = zip(own, originals).map(cosine)
        var similarities: (own: [Double], originals: [Double]) = ([], [])
        for first in lines.indices {
            for second in lines.indices where second > first {
                similarities.own.append(cosine(own[first], own[second]))
                similarities.originals.append(cosine(originals[first], originals[second]))
            }
        }
        var figures: [QualityFinding.Figure] = [
            .init(.cosine, cosines.reduce(0, +) / Double(cosines.count)), .init(.leastCosine, cosines.min() ?? 0),
        ]
        // A correlation of two similarities, or of one, says nothing.
        if lines.count > 2 {
            figures.append(.init(.rankCorrelation, correlation(ranks(similarities.own), ranks(similarities.originals))))
        }
        return QualityFinding(text: text, figures: figures)
    }

    /// The share of equal classes; of a model with one class, such as a reranker, whether its scores stay in order.
    func labels(
        ofTokens: Bool, _ progress: @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> QualityFinding {
        var (equal, count) = (0, 0)
        var scores: (own: [Double], originals: [Double]) = ([], [])
        for (number, line) in lines.enumerated() {
            if ofTokens {
                let own = try await model.label(tokensOf: line, truncates: true)
                let originals = try await original.label(tokensOf: line, truncates: true)
                equal += zip(own, originals).count { $0.label.label == $1.label.label }
                count += own.count
            } else {
                let pair = [TextFrontEnd.sides(of: line)]
                let own = try await model.classify(pair, truncates: true)[0]
                let other = try await original.classify(pair, truncates: true)[0]
                equal += own.first?.label == other.first?.label ? 1 : 0
                count += 1
                if own.count == 1, other.count == 1 {
                    scores.own.append(Double(own[0].score))
                    scores.originals.append(Double(other[0].score))
                }
            }
            progress(number + 1, lines.count)
        }
        if !scores.own.isEmpty {
            guard scores.own.count > 1 else {
                throw RequestError("\(evaluation.path) has one line; the order of scores needs more")
            }
            let order = correlation(ranks(scores.own), ranks(scores.originals))
            return QualityFinding(text: text, figures: [.init(.rankCorrelation, order)])
        }
        return QualityFinding(text: text, figures: [.init(.equalLabels, Double(equal) / Double(max(count, 1)))])
    }

    /// The loss at masked tokens: each seventh token of a line is masked, one line at a time.
    func masks(_ progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> QualityFinding {
        var sums = (own: 0.0, original: 0.0)
        var (equal, count) = (0, 0)
        for (number, line) in lines.enumerated() {
            let own = try await model.maskedLogits(of: line, each: 7)
            let originals = try await original.maskedLogits(of: line, each: 7)
            for (own, other) in zip(own, originals) {
                let (mine, reference) = (Distribution(own.logits.span), Distribution(other.logits.span))
                sums.own -= mine.logProbability(of: own.token)
                sums.original -= reference.logProbability(of: other.token)
                equal += mine.top == reference.top ? 1 : 0
                count += 1
            }
            progress(number + 1, lines.count)
        }
        guard count > 0 else { throw RequestError("the lines of \(evaluation.path) have too few tokens to mask some") }
        return QualityFinding(
            text: "\(text), \(Wording.count(count, "masked token"))",
            figures: [
                .init(.maskedLoss, sums.own / Double(count), original: sums.original / Double(count)),
                .init(.equalTopTokens, Double(equal) / Double(count)),
            ])
    }
}

private func cosine(_ left: [Float], _ right: [Float]) -> Double {
    var (product, squares) = (0.0, (left: 0.0, right: 0.0))
    for (left, right) in zip(left, right) {
        product += Double(left) * Double(right)
        squares.left += Double(left) * Double(left)
        squares.right += Double(right) * Double(right)
    }
    let norm = (squares.left * squares.right).squareRoot()
    return norm > 0 ? product / norm : 0
}

/// The rank of each value, from 0; equal values share the mean of their ranks.
private func ranks(_ values: [Double]) -> [Double] {
    let order = values.indices.sorted { values[$0] < values[$1] }
    var ranks = [Double](repeating: 0, count: values.count)
    var start = 0
    while start < order.count {
        var end = start
        while end < order.count, values[order[end]] == values[order[start]] { end += 1 }
        for place in start..<end { ranks[order[place]] = Double(start + end - 1) / 2 }
        start = end
    }
    return ranks
}

/// Pearson's correlation; of ranks it is Spearman's.
private func correlation(_ left: [Double], _ right: [Double]) -> Double {
    let means = (left.reduce(0, +) / Double(left.count), right.reduce(0, +) / Double(right.count))
    var (product, squares) = (0.0, (left: 0.0, right: 0.0))
    for (left, right) in zip(left, right) {
        let (a, b) = (left - means.0, right - means.1)
        product += a * b
        squares.left += a * a
        squares.right += b * b
    }
    let norm = (squares.left * squares.right).squareRoot()
    return norm > 0 ? product / norm : 1
}
