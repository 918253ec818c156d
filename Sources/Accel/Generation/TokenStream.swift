import AccelByteIO
import AccelTensors

/// Tokens that a session generates. Each one is computed when it is asked for, so that a stream that nobody reads costs nothing. A
/// second iteration goes on where the first one ended.
public struct TokenStream: AsyncSequence, Sendable {
    public typealias Element = Int64
    let generation: Generation

    /// Why and how the stream ended; nil while it goes on.
    public var summary: GenerationSummary? { generation.summary.withLock { $0 } }

    /// Asks for one token after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let generation: Generation

        /// The next token; nil after the last one: `summary` says why.
        /// - Throws: `AccelError`; not for cancellation and time limits, which end the stream.
        public mutating func next() async throws(AccelError) -> Int64? {
            try await generation.session.next(of: generation)
        }
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(AccelError) -> Int64? {
            try await generation.session.next(of: generation)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(generation: generation) }
}

/// The state of a token stream: its request, its tokens so far, and its summary once it has ended.
final class Generation: @unchecked Sendable {
    // Everything that changes, but for the summary, is read and written by the session's actor alone.
    let session: AccelSession
    let prompt: [Int64]
    let options: GenerationOptions
    let summary = Locked<GenerationSummary?>(nil)
    fileprivate var chooser: any TokenChooser
    fileprivate var cancellation: Cancellation?
    fileprivate var functions: DecodingFunctions?
    fileprivate var stopTokens: Set<Int64>?
    /// All tokens: the prompt, and what was generated.
    fileprivate var tokens: [Int64]
    fileprivate var (reused, generated) = (0, 0)
    fileprivate var (promptDuration, generationDuration) = (Duration.zero, Duration.zero)

    /// - Parameters:
    ///   - chooser: nil for the sampling of the options.
    ///   - functions: nil for those over the model's largest cache.
    init(
        _ session: AccelSession, _ prompt: [Int64], _ options: GenerationOptions, by chooser: (any TokenChooser)? = nil,
        with functions: DecodingFunctions? = nil
    ) {
        (self.session, self.prompt, self.options, self.functions) = (session, prompt, options, functions)
        self.chooser = chooser ?? Sampler(options.sampling, repetitionPenalty: options.repetitionPenalty)
        tokens = prompt
    }

    fileprivate var hasEnded: Bool { summary.withLock { $0 != nil } }

    fileprivate func end(_ reason: GenerationSummary.Reason) {
        let made = GenerationSummary(
            reason: reason, reusedTokens: reused, promptTokens: prompt.count - reused, promptDuration: promptDuration,
            generatedTokens: generated, generationDuration: generationDuration)
        summary.withLock { $0 = made }
    }
}

extension AccelSession {
    /// Generates tokens that follow a prompt. The prompt is the whole sequence from its first token: the longest beginning that the
    /// session holds already does not run again.
    public nonisolated func generate(
        from prompt: [Int64], _ options: GenerationOptions = GenerationOptions()
    ) -> TokenStream { TokenStream(generation: Generation(self, prompt, options)) }

    /// Generates tokens that a chooser chooses.
    /// - Parameter functions: those that take the tokens.
    nonisolated func generate(
        from prompt: [Int64], _ options: GenerationOptions, by chooser: any TokenChooser,
        with functions: DecodingFunctions
    ) -> TokenStream { TokenStream(generation: Generation(self, prompt, options, by: chooser, with: functions)) }

    fileprivate func next(of generation: Generation) async throws(AccelError) -> Int64? {
        guard !generation.hasEnded else { return nil }
        let options = generation.options
        try options.check()
        let functions = try functions(of: generation)
        guard !generation.prompt.isEmpty else {
            throw AccelError(
                .invalid, "the prompt has no tokens", at: "generation", hint: "begin with the token of the beginning")
        }
        guard generation.generated < options.maxTokens else {
            generation.end(.maxTokens)
            return nil
        }
        if let last = generation.tokens.last, generation.generated > 0, try stopTokens(of: generation).contains(last) {
            generation.end(.stopToken)
            return nil
        }
        guard generation.tokens.count <= functions.capacity else {
            guard generation.generated > 0 else {
                throw AccelError(
                    .invalid,
                    "the prompt has \(generation.prompt.count) tokens, and the cache \(functions.capacity) positions",
                    at: "generation", hint: "convert the model with a longer cache")
            }
            generation.end(.cacheFull)
            return nil
        }
        let cancellation = generation.cancellation ?? Cancellation(after: options.timeLimit, or: options.isCancelled)
        generation.cancellation = cancellation
        do throws(AccelError) {
            return try await token(after: generation, functions, cancellation)
        } catch let error {
            switch error.code {
            case .cancelled: generation.end(.cancelled)
            case .timedOut: generation.end(.timedOut)
            default: throw error
            }
            return nil
        }
    }

    private func functions(of generation: Generation) throws(AccelError) -> DecodingFunctions {
        if let functions = generation.functions { return functions }
        let functions = try DecodingFunctions(model)
        generation.functions = functions
        return functions
    }

    private func stopTokens(of generation: Generation) throws(AccelError) -> Set<Int64> {
        if let tokens = generation.stopTokens { return tokens }
        let tokens = if let own = generation.options.stopTokens { own } else { try model.stopTokens() }
        generation.stopTokens = tokens
        return tokens
    }

    private func token(
        after generation: Generation, _ functions: DecodingFunctions, _ cancellation: Cancellation
    ) async throws(AccelError) -> Int64 {
        let (clock, isFirst) = (ContinuousClock(), generation.generated == 0)
        let start = clock.now
        // The logits of the last token are needed, so that it runs in any case.
        var held = zip(tokens, generation.tokens).prefix { $0 == $1 }.count
        held = min(held, generation.tokens.count - 1)
        if isFirst { generation.reused = held }
        try rewind(to: held)
        var next: Int64?
        let all = generation.tokens
        for (block, taken) in functions.runs(over: held..<all.count) {
            try rewind(to: taken.first)
            let inputs = generation.options.inputs.merging(try block.inputs(of: all, taken)) { $1 }
            let isLast = taken.tokens.upperBound == all.count
            let outputs = try await run(
                block.function, inputs, RunOptions(outputs: isLast ? [block.logits.name] : []), cancellation)
            tokens = Array(all[..<taken.tokens.upperBound])
            guard isLast else { continue }
            next = try outputs[block.logits.name].withSpan(of: Float.self) { logits throws(AccelError) in
                let width = block.logits.shape.dimensions.last ?? 0
                let end = block.taker.hasAllLogits ? taken.rows.upperBound * width : logits.count
                return try generation.chooser.choose(
                    from: logits.extracting(first: end).extracting(last: width), after: all)
            }
        }
        guard let next else {
            throw AccelError(.unsupported, "no function takes the next token", at: model.package.path)
        }
        if isFirst {
            generation.promptDuration += clock.now - start
        } else {
            generation.generationDuration += clock.now - start
        }
        generation.tokens.append(next)
        generation.generated += 1
        return next
    }
}
