import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// The functions of a model that take blocks of tokens into one cache of keys and values, from the longest blocks to the shortest.
struct DecodingFunctions: Sendable {
    /// A function that takes blocks of `length` tokens.
    struct Block: Sendable {
        let function: FunctionDescription
        let length: Int
        let tokens, position, logits: FunctionDescription.Port

        /// The logits have a row for each token, and not for the last one only.
        var hasAllLogits: Bool { logits.role.positionAxis == 1 }
    }
    let blocks: [Block]
    /// The positions of the cache.
    let capacity: Int

    /// - Throws: `AccelError` (unsupported) if no function takes one token and returns logits, at a batch of one.
    init(_ model: AccelModel) throws(AccelError) {
        // Functions go together if they share their states.
        var groups: [(states: [FunctionDescription.Port], blocks: [Block])] = []
        for function in model.functions {
            guard let block = Block(function), block.capacity != nil else { continue }
            let states = function.states.sorted { $0.name < $1.name }
            guard let group = groups.firstIndex(where: { $0.states == states }) else {
                groups.append((states, [block]))
                continue
            }
            groups[group].blocks.append(block)
        }
        let complete = groups.map(\.blocks).filter { $0.contains { $0.length == 1 } }
        // The largest cache, which holds the most tokens; of equal ones always the same.
        guard let blocks = complete.max(by: { ($0[0].capacity ?? 0) < ($1[0].capacity ?? 0) }),
            let capacity = blocks[0].capacity
        else {
            throw AccelError(
                .unsupported, "no function takes one token and its position, and returns logits, over a cache",
                at: model.package.path, hint: "convert it with --shape batch=1,tokens=1,cache=...")
        }
        self.blocks = blocks.sorted { $0.length > $1.length }
        self.capacity = capacity
    }

    /// The runs for some tokens of a sequence, whose other tokens up to there the states hold.
    func runs(over tokens: Range<Int>) -> [(block: Block, taken: TokenBlocks.Block)] {
        runs(over: tokens, by: blocks)
    }

    /// - Parameter blocks: those that may run.
    func runs(over tokens: Range<Int>, by blocks: [Block]) -> [(block: Block, taken: TokenBlocks.Block)] {
        let layout = TokenBlocks(
            lengths: blocks.map(\.length), capacity: capacity,
            padded: Set(blocks.filter(\.hasAllLogits).map(\.length)),
            repeatable: Set(blocks.filter(\.isRepeatable).map(\.length)))
        return (layout.covering(tokens) ?? []).compactMap { taken in
            blocks.first { $0.length == taken.length }.map { ($0, taken) }
        }
    }
}

extension DecodingFunctions.Block {
    /// The tokens of a sequence that the block takes, and their position. The end of a block that is longer than the rest holds any token.
    func inputs(of tokens: [Int64], _ taken: TokenBlocks.Block) throws(AccelError) -> AccelFunction.Inputs {
        let given = tokens[taken.first..<min(taken.first + length, tokens.count)]
        let ids = Array(given) + Array(repeating: 0, count: length - given.count)
        return [
            self.tokens.name: try AccelTensor(ids, 1, length),
            position.name: try AccelTensor(of: Int64.self, shape: position.shape) { $0[0] = Int64(taken.first) },
        ]
    }

    fileprivate init?(_ function: FunctionDescription) {
        func port(_ ports: [FunctionDescription.Port], _ kind: RoleKind) -> FunctionDescription.Port? {
            ports.first { $0.role.kind == kind }
        }
        guard let tokens = port(function.inputs, .tokens), let position = port(function.inputs, .position),
            let logits = port(function.outputs, .logits), tokens.shape.rank == 2, tokens.shape.dimensions[0] == 1,
            tokens.elementType == .int64, position.elementType == .int64, position.shape.count == 1,
            logits.elementType == .float32, logits.shape.count > 0
        else { return nil }
        (self.function, self.tokens, self.position, self.logits) = (function, tokens, position, logits)
        length = tokens.shape.dimensions[1]
        guard length > 0 else { return nil }
    }

    /// Its states are caches, in which the same tokens leave the same keys and values again.
    fileprivate var isRepeatable: Bool {
        function.states.allSatisfy { [.keyValueCache, .crossAttention].contains($0.role.kind) }
    }

    /// The positions of its caches, the least of all; nil without one.
    fileprivate var capacity: Int? {
        function.states.compactMap { state in
            guard state.role.kind == .keyValueCache, let axis = state.role.integer("axis"),
                state.shape.dimensions.indices.contains(axis)
            else { return nil }
            return state.shape.dimensions[axis]
        }.min()
    }
}
