import AccelFrontEnds
import AccelPlatform

/// A class with its score.
public struct ScoredLabel: Equatable, Sendable {
    /// The name of the class, by the model's configuration; else `LABEL_` and its number.
    public let label: String
    /// The probability, from 0 to 1; of a regression its value.
    public let score: Float
}

extension [ScoredLabel] {
    /// The classes of logits, the likeliest one first.
    init(_ logits: [Float], _ labels: [Int: String], by kind: ClassScores) {
        let scores: [Float] =
            switch kind {
            case .plain: logits
            case .shares where logits.count > 1: softmax(logits[...])
            default: logits.map { 1 / (1 + exp(-$0)) }
            }
        self = scores.enumerated().map { ScoredLabel(label: labels.name($0), score: $1) }
            .sorted { $0.score > $1.score }
    }
}

extension [Int: String] {
    func name(_ number: Int) -> String { self[number] ?? "LABEL_\(number)" }
}

extension AccelTensor {
    /// The elements of a row of the first dimension.
    func row(_ index: Int) throws(AccelError) -> [Float] {
        let width = shape.count / max(shape.dimensions.first ?? 1, 1)
        return try withSpan(of: Float.self) { span in (index * width..<(index + 1) * width).map { span[$0] } }
    }
}

func softmax(_ logits: ArraySlice<Float>) -> [Float] {
    let largest = logits.max() ?? 0
    let weights = logits.map { exp(Double($0 - largest)) }
    let total = weights.reduce(0, +)
    return weights.map { Float($0 / total) }
}

private func exp(_ value: Float) -> Float { Float(exp(Double(value))) }
