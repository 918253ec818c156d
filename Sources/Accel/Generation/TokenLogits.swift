import AccelByteIO
import AccelCPURuntime
import AccelTensors

extension AccelSession {
    /// Computes the logits that follow each token of a sequence, which begins anew.
    /// - Parameters:
    ///   - tokens: the sequence from its first token, at most as many as `positionCount`.
    ///   - positions: the tokens whose logits are wanted.
    ///   - body: gets a token's position and the logits of the token after it, in order.
    /// - Throws: `AccelError` (unsupported) if no function takes tokens over a cache and returns the logits of each; and those of `body`.
    package func logits(
        of tokens: [Int64], at positions: Range<Int>, _ body: (_ position: Int, Span<Float>) throws(AccelError) -> Void
    ) async throws(AccelError) {
        let functions = try DecodingFunctions(model)
        try rewind(to: 0)
        for (block, taken) in try functions.runs(ofEach: 0..<tokens.count) {
            let inputs = try block.inputs(of: tokens, taken)
            let wanted = taken.tokens.clamped(to: positions)
            let outputs = try await run(
                block.function, inputs, RunOptions(outputs: wanted.isEmpty ? [] : [block.logits.name]), Cancellation())
            guard !wanted.isEmpty else { continue }
            let width = block.logits.shape.dimensions.last ?? 0
            try outputs[block.logits.name].withSpan(of: Float.self) { logits throws(AccelError) in
                for position in wanted {
                    let row = position - taken.first
                    try body(position, logits.extracting(row * width..<(row + 1) * width))
                }
            }
        }
    }
}

extension AccelModel {
    /// The most tokens of a sequence; nil for a model that takes none one after the other.
    package var positionCount: Int? { try? DecodingFunctions(self).capacity }
}

extension DecodingFunctions {
    /// The runs over a sequence that give the logits of each of its tokens.
    fileprivate func runs(
        ofEach tokens: Range<Int>
    ) throws(AccelError) -> [(block: Block, taken: TokenBlocks.Block)] {
        let complete = runs(over: tokens, by: blocks.filter { $0.taker.hasAllLogits || $0.taker.length == 1 })
        guard !complete.isEmpty else {
            throw AccelError(
                .invalid, expected: "at most \(capacity) tokens", found: "\(tokens.count)",
                at: "the positions of the cache")
        }
        return complete
    }
}
