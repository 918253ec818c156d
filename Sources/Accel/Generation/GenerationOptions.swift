/// How tokens are generated.
public struct GenerationOptions: Sendable {
    /// How the next token is chosen from its logits.
    public enum Sampling: Sendable {
        /// The token with the largest logit; the first one of equal ones.
        case greedy
        /// A token at random, by its probability.
        /// - Parameters:
        ///   - temperature: what the logits are divided by before; above 0.
        ///   - topK: only so many tokens of the largest logits are considered; nil for all.
        ///   - topP: of these, the fewest whose probabilities add up to at least this; from 0 to 1.
        ///   - minP: of these, those whose probability is at least this share of the likeliest one's; from 0 to 1.
        ///   - seed: the same seed chooses the same tokens from the same logits.
        case random(temperature: Float = 1, topK: Int? = nil, topP: Float = 1, minP: Float = 0, seed: UInt64)
    }

    /// The number of tokens, at most.
    public var maxTokens: Int
    /// How the next token is chosen.
    public var sampling: Sampling
    /// The logits of tokens that are in the prompt or were generated are divided by this, or multiplied if they are below 0; above 0.
    public var repetitionPenalty: Float = 1
    /// The tokens after which nothing is generated; nil for those of the package (`AccelModel.stopTokens`). They are part of
    /// the stream.
    public var stopTokens: Set<Int64>?
    /// The time for all tokens, from the first one that is asked for; nil for no limit.
    public var timeLimit: Duration?
    /// Ends the stream as a cancelled task does; is asked before each piece of work. nil if nothing else ends it.
    package var isCancelled: (@Sendable () -> Bool)?
    /// Inputs of the functions beside tokens and position, by name: the same for each run.
    public var inputs: AccelFunction.Inputs = [:]

    /// Options of generation.
    public init(
        maxTokens: Int = 256, sampling: Sampling = .greedy, stopTokens: Set<Int64>? = nil, timeLimit: Duration? = nil
    ) {
        (self.maxTokens, self.sampling, self.stopTokens) = (maxTokens, sampling, stopTokens)
        self.timeLimit = timeLimit
    }

    /// - Throws: `AccelError` (invalid) for numbers that mean nothing.
    package func check() throws(AccelError) {
        let place = "options of generation"
        func reject(_ expected: String, _ found: String) -> AccelError {
            AccelError(.invalid, expected: expected, found: found, at: place)
        }
        guard maxTokens >= 0 else { throw AccelError(.invalid, "\(maxTokens) tokens are asked for", at: place) }
        guard repetitionPenalty.isFinite, repetitionPenalty > 0 else {
            throw reject("a repetition penalty above 0", "\(repetitionPenalty)")
        }
        guard case .random(let temperature, let topK, let topP, let minP, _) = sampling else { return }
        guard temperature.isFinite, temperature > 0 else {
            throw reject("a temperature above 0", "\(temperature)")
        }
        guard topK ?? 1 >= 1 else { throw reject("a topK of 1 or more", "\(topK ?? 0)") }
        guard 0...1 ~= topP else { throw reject("a topP from 0 to 1", "\(topP)") }
        guard 0...1 ~= minP else { throw reject("a minP from 0 to 1", "\(minP)") }
    }
}

/// Why and how a stream of tokens ended.
public struct GenerationSummary: Sendable {
    /// Why it ended. Later versions may add reasons.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }
        /// The last token is one of the stop tokens.
        public static let stopToken = Reason(rawValue: "stop token")
        /// There are as many tokens as were asked for.
        public static let maxTokens = Reason(rawValue: "number of tokens")
        /// The states hold no more positions.
        public static let cacheFull = Reason(rawValue: "cache full")
        /// The task was cancelled.
        public static let cancelled = Reason(rawValue: "cancelled")
        /// The time limit was over.
        public static let timedOut = Reason(rawValue: "time limit")
    }
    /// Why it ended.
    public let reason: Reason
    /// Tokens of the prompt whose keys and values the session had already.
    public let reusedTokens: Int
    /// Tokens of the prompt that ran, and the time that they took.
    public let promptTokens: Int, promptDuration: Duration
    /// Generated tokens, and the time of their runs, that of the prompt not included.
    public let generatedTokens: Int, generationDuration: Duration

    /// Tokens of the prompt that ran, per second; 0 without any.
    public var promptTokensPerSecond: Double {
        let seconds = promptDuration / .seconds(1)
        return seconds > 0 ? Double(promptTokens) / seconds : 0
    }

    /// Runs of one token, per second of generation; 0 without any.
    public var tokensPerSecond: Double {
        let seconds = generationDuration / .seconds(1)
        return seconds > 0 ? Double(max(generatedTokens - 1, 0)) / seconds : 0
    }
}
