import AccelPrograms

/// A function that takes blocks of a sequence's tokens and writes their keys and values into a cache.
struct TokenFunction: Sendable {
    typealias Port = FunctionDescription.Port

    /// The index of the function in the model.
    let index: Int
    let function: FunctionDescription
    /// The rows of a block.
    let rows: Int
    /// The tokens of a row of a block.
    let length: Int
    /// The positions of the cache.
    let capacity: Int
    /// I64[rows, length], and the position of a block's first token: I64 of one element.
    let tokens, position: Port
    /// The scores of the next token; nil where there is no such output.
    let logits: Port?
    /// Every output has a row for each token, so that rows of no token can be left out.
    let hasRowsOnly: Bool
    /// The logits have a row for each token, and not for the last one only.
    let hasAllLogits: Bool
    /// Its states are caches, in which the same tokens leave the same keys and values again.
    let isRepeatable: Bool

    /// Nil when the function takes no blocks of tokens, or writes to no cache.
    init?(_ index: Int, _ function: FunctionDescription) {
        guard let tokens = function.input(.tokens), let position = function.input(.position),
            position.shape.count == 1, tokens.shape.rank == 2, tokens.shape.count > 0,
            let capacity = function.cacheLength
        else { return nil }
        (self.index, self.function) = (index, function)
        (self.tokens, self.position, logits) = (tokens, position, function.output(.logits))
        (rows, length) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        self.capacity = capacity
        hasRowsOnly = function.outputs.allSatisfy { $0.role.positionAxis == 1 }
        hasAllLogits = logits?.role.positionAxis == 1
        isRepeatable = function.states.allSatisfy { [.keyValueCache, .crossAttention].contains($0.role.kind) }
    }

    /// Groups functions that share their states; in a group the one with the longest blocks is first.
    static func sharing(_ functions: [TokenFunction]) -> [[TokenFunction]] {
        var groups: [(states: Set<Port>, functions: [TokenFunction])] = []
        for function in functions {
            let states = Set(function.function.states)
            if let group = groups.firstIndex(where: { $0.states == states }) {
                groups[group].functions.append(function)
            } else {
                groups.append((states, [function]))
            }
        }
        return groups.map { $0.functions.sorted { $0.length > $1.length } }
    }
}

extension TokenBlocks {
    /// The blocks of functions that share a cache.
    /// - Parameters:
    ///   - capacity: the positions of the cache, counted from the first token of the sequence.
    ///   - isPadded: the end of a block of the function may be unused.
    init(_ functions: [TokenFunction], capacity: Int, isPadded: (TokenFunction) -> Bool) {
        self.init(
            lengths: functions.map(\.length), capacity: capacity,
            padded: Set(functions.filter(isPadded).map(\.length)),
            repeatable: Set(functions.filter(\.isRepeatable).map(\.length)))
    }
}

extension FunctionDescription {
    /// Returns the first input of a kind; nil if there is none.
    func input(_ kind: RoleKind) -> Port? { inputs.first { $0.role.kind == kind } }

    /// Returns the first output of one of the kinds; nil if there is none.
    func output(_ kinds: RoleKind...) -> Port? {
        kinds.lazy.compactMap { kind in outputs.first { $0.role.kind == kind } }.first
    }

    /// How many positions its caches hold, the least of all; nil where it has none.
    fileprivate var cacheLength: Int? {
        states.compactMap { state in
            guard state.role.kind == .keyValueCache, let axis = state.role.integer("axis"),
                state.shape.dimensions.indices.contains(axis)
            else { return nil }
            return state.shape.dimensions[axis]
        }.min()
    }
}
