import AccelByteIO

/// The codes of one frame of a neural audio codec.
public struct CodeFrame: Equatable, Sendable {
    /// The codes of each codebook, from the coarsest one on, in the order of time.
    public var codes: [[Int64]]

    /// Creates a frame of codes.
    public init(_ codes: [[Int64]]) { self.codes = codes }
}

/// Reads the frames of codes that a language model writes, token by token.
///
///     var reader = try CodeFrameReader(.orpheus)
///     for try await token in stream {
///         if let frame = try reader.append(token) { try vocoder.append([frame]) }
///     }
public struct CodeFrameReader: Sendable {
    /// The tokens of codes.
    public let tokens: CodeTokens
    /// The number of whole frames so far.
    public private(set) var frameCount = 0
    /// Whether the token of the end was read. Later tokens have no codes.
    public private(set) var hasEnded = false
    /// The codes of the frame that is not whole yet.
    private var pending: [Int64] = []

    /// Creates a reader at the first slot of a frame.
    /// - Throws: `AccelError` (invalid) for tokens without a meaning, such as frames without slots.
    public init(_ tokens: CodeTokens = .orpheus) throws(AccelError) {
        try tokens.check()
        self.tokens = tokens
    }

    /// The number of codes of a frame that is not whole yet. At the end they have no sound, as in the original code.
    public var pendingCount: Int { pending.count }

    /// Reads the next token.
    ///
    /// Orpheus's own code drops tokens whose code is below 1, so that code 0 moves all later ones by a slot, and it drops a frame of sound
    /// if a code is above 4096 in one of four frames. Here code 0 is a code, and a token of another slot is an error.
    /// - Returns: the frame that the token completes; nil for other tokens, and for all tokens after the end.
    /// - Throws: `AccelError` (invalid) for a token that is neither a code of its slot nor the end. Then nothing has changed.
    public mutating func append(_ token: Int64) throws(AccelError) -> CodeFrame? {
        guard !hasEnded else { return nil }
        guard token != tokens.end else {
            hasEnded = true
            return nil
        }
        let (slot, codes) = (pending.count, tokens.codes(ofSlot: pending.count))
        guard codes.contains(token) else {
            throw AccelError(
                .invalid,
                expected: "a token from \(codes.lowerBound) to \(codes.upperBound - 1), or \(tokens.end) at the end",
                found: "\(token)", at: "codes of speech, frame \(frameCount), slot \(slot)")
        }
        pending.append(token - codes.lowerBound)
        guard pending.count == tokens.slots.count else { return nil }
        var frame = CodeFrame(tokens.codesPerFrame.map { _ in [] })
        for (book, code) in zip(tokens.slots, pending) { frame.codes[book].append(code) }
        pending = []
        frameCount += 1
        return frame
    }
}

/// Chooses among the codes of the next slot and the end, so that a frame is always whole. The model's own choice is a code of this slot in
/// all but rare cases, after which the original code loses sound.
struct CodeChooser: TokenChooser {
    private let tokens: CodeTokens
    private let promptCount: Int
    private var sampler: Sampler

    /// - Parameter promptCount: the number of tokens before the first code.
    init(_ tokens: CodeTokens, after promptCount: Int, by sampler: Sampler) {
        (self.tokens, self.promptCount, self.sampler) = (tokens, promptCount, sampler)
    }

    mutating func choose(from logits: Span<Float>, after tokens: [Int64]) throws(AccelError) -> Int64 {
        let codes = self.tokens.codes(ofSlot: max(tokens.count - promptCount, 0) % self.tokens.slots.count)
        let end = self.tokens.end
        func logit(_ token: Int64) -> Float {
            Int(exactly: token).flatMap { logits.indices.contains($0) ? logits[$0] : nil } ?? -.infinity
        }
        let allowed = codes.map { logit($0) } + [logit(end)]
        // The tokens before by their indices among those that are allowed.
        let earlier = tokens.compactMap { token -> Int64? in
            if codes.contains(token) { return token - codes.lowerBound }
            return token == end ? Int64(codes.count) : nil
        }
        let chosen = try sampler.choose(from: allowed.span, after: earlier)
        return chosen < codes.count ? codes.lowerBound + chosen : end
    }
}
