import AccelByteIO
import AccelPrograms

/// The functions of a model that take blocks of tokens into one cache of keys and values, from the longest blocks to the shortest.
struct DecodingFunctions: Sendable {
    /// A function, and the logits that it returns.
    struct Block: Sendable {
        let taker: TokenFunction
        let logits: FunctionDescription.Port

        var function: FunctionDescription { taker.function }

        /// Nil for batches, and for types of tensors that a session does not generate with.
        fileprivate init?(_ taker: TokenFunction) {
            guard let logits = taker.logits, taker.rows == 1, taker.tokens.elementType == .int64,
                taker.position.elementType == .int64, logits.elementType == .float32, logits.shape.count > 0
            else { return nil }
            (self.taker, self.logits) = (taker, logits)
        }
    }
    let blocks: [Block]
    /// The positions of the cache.
    let capacity: Int

    /// - Parameter states: states that the functions read beside their cache, such as those of an encoder's outputs.
    /// - Throws: `AccelError` (unsupported) if no function takes one token and returns logits, at a batch of one.
    init(_ model: AccelModel, reading states: [FunctionDescription.Port] = []) throws(AccelError) {
        let takers = model.functions.enumerated().compactMap { TokenFunction($0, $1) }
            .filter { Set(states).isSubset(of: $0.function.states) }
        let complete = TokenFunction.sharing(takers).map { $0.compactMap(Block.init) }
            .filter { $0.contains { $0.taker.length == 1 } }
        // The largest cache, which holds the most tokens; of equal ones always the same.
        guard let blocks = complete.max(by: { $0[0].taker.capacity < $1[0].taker.capacity }) else {
            throw AccelError(
                .unsupported, "no function takes one token and its position, and returns logits, over a cache",
                at: model.package.path, expected: "a function of the shape batch=1,tokens=1")
        }
        self.blocks = blocks
        capacity = blocks[0].taker.capacity
    }

    /// The runs for some tokens of a sequence, whose other tokens up to there the states hold.
    func runs(over tokens: Range<Int>) -> [(block: Block, taken: TokenBlocks.Block)] {
        runs(over: tokens, by: blocks)
    }

    /// - Parameter blocks: those that may run.
    func runs(over tokens: Range<Int>, by blocks: [Block]) -> [(block: Block, taken: TokenBlocks.Block)] {
        let layout = TokenBlocks(blocks.map(\.taker), capacity: capacity) { $0.hasAllLogits }
        return (layout.covering(tokens) ?? []).compactMap { taken in
            blocks.first { $0.taker.length == taken.length }.map { ($0, taken) }
        }
    }
}

extension DecodingFunctions.Block {
    /// The tokens of a sequence that the block takes, and their position. The end of a block that is longer than the rest holds any token.
    func inputs(of tokens: [Int64], _ taken: TokenBlocks.Block) throws(AccelError) -> AccelFunction.Inputs {
        let length = taker.length
        let given = tokens[taken.first..<min(taken.first + length, tokens.count)]
        let ids = Array(given) + Array(repeating: 0, count: length - given.count)
        return [
            taker.tokens.name: try AccelTensor(ids, 1, length),
            taker.position.name: try AccelTensor(of: Int64.self, shape: taker.position.shape) {
                $0[0] = Int64(taken.first)
            },
        ]
    }
}
