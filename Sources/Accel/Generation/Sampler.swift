import AccelPlatform

/// Chooses the next token of a sequence from its logits.
protocol TokenChooser: Sendable {
    /// - Parameters:
    ///   - logits: one for each token of the vocabulary.
    ///   - tokens: the tokens before, those of the prompt included.
    mutating func choose(from logits: Span<Float>, after tokens: [Int64]) throws(AccelError) -> Int64
}

/// Chooses the likeliest token, or one at random.
package struct Sampler: TokenChooser {
    private let sampling: GenerationOptions.Sampling
    private let repetitionPenalty: Float
    private var state: UInt64

    package init(_ sampling: GenerationOptions.Sampling, repetitionPenalty: Float = 1) {
        (self.sampling, self.repetitionPenalty) = (sampling, repetitionPenalty)
        if case .random(_, _, _, _, let seed) = sampling { state = seed } else { state = 0 }
    }

    /// It makes a token less likely after the same one.
    var readsTokens: Bool { repetitionPenalty != 1 }

    /// Returns the sampler of a row of a batch, which has a seed of its own.
    func ofRow(_ row: Int) -> Sampler {
        var sampler = self
        sampler.state &+= UInt64(row)
        return sampler
    }

    /// - Parameters:
    ///   - logits: one for each token of the vocabulary; none of them is no number.
    ///   - tokens: the tokens before, which a penalty makes less likely.
    /// - Throws: `AccelError` (backend) without logits, or if one is no number.
    mutating func choose(from logits: Span<Float>, after tokens: [Int64] = []) throws(AccelError) -> Int64 {
        guard repetitionPenalty != 1 else { return try choose(logits) }
        var penalised = logits.indices.map { logits[$0] }
        for token in Set(tokens) {
            guard let token = Int(exactly: token), penalised.indices.contains(token) else { continue }
            // Keskar et al. 2019, CTRL, as transformers does it for logits below 0.
            penalised[token] *= penalised[token] < 0 ? repetitionPenalty : 1 / repetitionPenalty
        }
        return try choose(penalised.span)
    }

    private mutating func choose(_ logits: Span<Float>) throws(AccelError) -> Int64 {
        var best = 0
        for token in logits.indices {
            guard !logits[token].isNaN else {
                throw AccelError(.backend, "the logit of token \(token) is no number", at: "generation")
            }
            if logits[token] > logits[best] { best = token }
        }
        guard !logits.isEmpty else { throw AccelError(.backend, "there are no logits", at: "generation") }
        guard case .random(let temperature, let topK, let topP, let minP, _) = sampling, logits[best].isFinite else {
            return Int64(best)
        }
        let largest = logits[best]
        func weight(_ token: Int) -> Double { exp(Double((logits[token] - largest) / temperature)) }
        var ranking = RankedTokens(logits)
        var candidates: [(token: Int, weight: Double)] = []
        let most = min(topK ?? logits.count, logits.count)
        // Without limits the tokens are ranked only as far as the sampled one.
        let ranksAll = topK != nil || topP < 1 || minP > 0
        var total = 0.0
        if topK == nil {
            for token in logits.indices { total += weight(token) }
        } else {
            while candidates.count < most, let token = ranking.next() {
                candidates.append((token, weight(token)))
                total += candidates[candidates.count - 1].weight
            }
        }
        func candidate(_ index: Int) -> (token: Int, weight: Double)? {
            if index == candidates.count, topK == nil, let token = ranking.next() {
                candidates.append((token, weight(token)))
            }
            return index < candidates.count ? candidates[index] : nil
        }
        var (kept, sum) = (0, 0.0)
        if ranksAll {
            while kept == 0 || sum < Double(topP) * total, let next = candidate(kept) {
                // The largest weight is 1.
                guard kept == 0 || next.weight >= Double(minP) else { break }
                sum += next.weight
                kept += 1
            }
        } else {
            (kept, sum) = (logits.count, total)
        }
        var left = next() * sum
        var chosen = best
        for index in 0..<kept {
            guard let next = candidate(index) else { break }
            chosen = next.token
            left -= next.weight
            if left < 0 { break }
        }
        return Int64(chosen)
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

/// Tokens by falling logits, and equal ones by their number, so that the order is the same everywhere. The order is made as far as it is
/// asked for: a heap of all tokens, from which each next one takes a logarithmic number of steps.
private struct RankedTokens: ~Copyable {
    private var heap: [(logit: Float, token: Int32)]

    init(_ logits: Span<Float>) {
        heap = logits.indices.map { (logits[$0], Int32($0)) }
        for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        heap[left].logit == heap[right].logit
            ? heap[left].token < heap[right].token : heap[left].logit > heap[right].logit
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var first = parent
            let left = 2 * parent + 1
            if left < heap.count, isBefore(left, first) { first = left }
            if left + 1 < heap.count, isBefore(left + 1, first) { first = left + 1 }
            guard first != parent else { return }
            heap.swapAt(parent, first)
            parent = first
        }
    }

    mutating func next() -> Int? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return Int(first.token)
    }
}
