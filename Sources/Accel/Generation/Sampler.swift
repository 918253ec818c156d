import AccelPlatform

/// Chooses tokens from logits.
struct Sampler: Sendable {
    private let sampling: GenerationOptions.Sampling
    private var state: UInt64

    init(_ sampling: GenerationOptions.Sampling) {
        self.sampling = sampling
        if case .random(_, _, _, let seed) = sampling { state = seed } else { state = 0 }
    }

    /// - Parameter logits: one for each token of the vocabulary; none of them is no number.
    /// - Throws: `AccelError` (backend) without logits, or if one is no number.
    mutating func choose(from logits: Span<Float>) throws(AccelError) -> Int64 {
        var best = 0
        for token in logits.indices {
            guard !logits[token].isNaN else {
                throw AccelError(.backend, "the logit of token \(token) is no number", at: "generation")
            }
            if logits[token] > logits[best] { best = token }
        }
        guard !logits.isEmpty else { throw AccelError(.backend, "there are no logits", at: "generation") }
        guard case .random(let temperature, let topK, let topP, _) = sampling, logits[best].isFinite else {
            return Int64(best)
        }
        // By falling logits; equal ones by their number, so that the order is the same everywhere.
        var order = Array(logits.indices)
        order.sort { logits[$0] == logits[$1] ? $0 < $1 : logits[$0] > logits[$1] }
        if let topK { order.removeLast(max(order.count - topK, 0)) }
        let largest = logits[best]
        let weights = order.map { exp(Double((logits[$0] - largest) / temperature)) }
        let total = weights.reduce(0, +)
        var (kept, sum) = (0, 0.0)
        while kept < weights.count, kept == 0 || sum < Double(topP) * total {
            sum += weights[kept]
            kept += 1
        }
        var left = next() * sum
        for index in 0..<kept {
            left -= weights[index]
            if left < 0 { return Int64(order[index]) }
        }
        return Int64(order[kept - 1])
    }

    /// A number from 0 to below 1: SplitMix64 (Steele, Lea and Flood 2014).
    private mutating func next() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ (bits >> 31)) >> 11) / Double(UInt64(1) << 53)
    }
}
