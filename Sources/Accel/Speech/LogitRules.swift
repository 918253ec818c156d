import AccelFrontEnds

/// A rule that makes tokens impossible: it sets their logits to minus infinity.
protocol LogitRule: Sendable {
    /// - Parameters:
    ///   - logits: one for each token of the vocabulary.
    ///   - tokens: the tokens of the window so far, without the prompt.
    func mask(_ logits: inout [Float], after tokens: ArraySlice<Int64>)
}

/// Tokens that are never chosen, such as those of tasks and of sounds.
struct SuppressedTokens: LogitRule {
    let tokens: Set<Int64>

    func mask(_ logits: inout [Float], after _: ArraySlice<Int64>) { logits.exclude(tokens) }
}

/// Tokens that are not chosen first: a blank, and the end.
struct SuppressedFirstTokens: LogitRule {
    let tokens: Set<Int64>

    func mask(_ logits: inout [Float], after chosen: ArraySlice<Int64>) {
        if chosen.isEmpty { logits.exclude(tokens) }
    }
}

/// The order of texts and times in a window, as OpenAI's Whisper decodes it (Radford et al. 2022, section 4.5): times come in pairs around
/// texts and never go back, a window begins with a time of at most one second, and a time is chosen where all times together are more
/// probable than any other token.
struct TimestampRule: LogitRule {
    /// Texts have tokens below `end`, and times from `first` on.
    let end, first: Int64
    /// The token that asks for no times.
    let noTimestamps: Int64
    /// The latest time at the beginning of a window, in tokens.
    let lastInitial: Int64

    func mask(_ logits: inout [Float], after tokens: ArraySlice<Int64>) {
        logits.exclude(noTimestamps..<noTimestamps + 1)
        if tokens.isEmpty {
            logits.exclude(0..<first)
            logits.exclude(first + lastInitial + 1..<Int64.max)
        }
        let endsInTime = tokens.last.map { $0 >= first } ?? false
        // The first time of a window opens a text like the second one of a pair.
        let opensText = endsInTime && (tokens.dropLast().last.map { $0 >= first } ?? true)
        if opensText {
            logits.exclude(first..<Int64.max)
        } else if endsInTime {
            logits.exclude(0..<end)
        }
        if let last = tokens.last(where: { $0 >= first }) {
            // The second time of a pair may equal the first one; a text takes some time.
            let next = endsInTime && !opensText ? last : last + 1
            logits.exclude(first..<next)
        }
        preferTimes(&logits)
    }

    private func preferTimes(_ logits: inout [Float]) {
        guard let split = Int(exactly: first), split < logits.count else { return }
        // Both sides have the same divisor as probabilities, so that logits are compared.
        let times = logSumExp(logits.span.extracting(split...))
        guard times.isFinite, let text = logits[..<split].max(), times > Double(text) else { return }
        logits.exclude(0..<first)
    }
}

extension [Float] {
    fileprivate mutating func exclude(_ tokens: Set<Int64>) {
        for token in tokens {
            guard let index = Int(exactly: token), indices.contains(index) else { continue }
            self[index] = -.infinity
        }
    }

    fileprivate mutating func exclude(_ tokens: Range<Int64>) {
        let known = tokens.clamped(to: 0..<Int64(count))
        for index in known { self[Int(index)] = -.infinity }
    }
}
