import AccelPrograms
import AccelTensors

/// A decoder function that takes blocks of a sequence's tokens and writes their keys and values into a cache.
struct TokenFeed: Sendable {
    /// In the program.
    let function: Int
    /// Tokens in a block.
    let length: Int
    /// The cache length, in positions.
    let capacity: Int
    let states: Set<FrozenProgram.State>
    /// The input that takes the tokens: I64[batch, length].
    let tokens: String
    /// The input that takes the position of a block's first token: I64 of one element.
    let position: String
    private let positionShape: Shape
    /// The output that scores the next token; nil where there is none.
    let logits: String?
    /// Further inputs, the same for each block.
    let held: [String: StoredTensor]
    /// Every output has a row for each token, so that rows of no token can be left out.
    let hasRowsOnly: Bool
    /// Its states are caches, in which the same tokens leave the same keys and values again.
    let isRepeatable: Bool

    /// Nil when the function takes no blocks of tokens, or has an input that `tensors` do not hold.
    init?(_ index: Int, _ function: FunctionPlan, _ tensors: [String: StoredTensor]) {
        guard let tokens = function.input(.tokens), let positionPort = function.input(.position),
            positionPort.shape.count == 1,
            let capacity = function.cacheLength, let given = tensors[tokens.name], given.holdsIndices,
            given.shape.rank == 2, given.shape.dimensions[0] == tokens.shape.dimensions[0]
        else { return nil }
        var held: [String: StoredTensor] = [:]
        for port in function.inputs where port.name != tokens.name && port.name != positionPort.name {
            guard let given = tensors[port.name]?.fitting(port) else { return nil }
            held[port.name] = given
        }
        self.function = index
        length = tokens.shape.dimensions[1]
        self.capacity = capacity
        states = Set(function.states)
        self.tokens = tokens.name
        (position, positionShape) = (positionPort.name, positionPort.shape)
        self.held = held
        logits = function.output(.logits)?.name
        hasRowsOnly = function.outputs.allSatisfy {
            function.interface.role(of: $0.name, .output).positionAxis == 1
        }
        isRepeatable = function.states.allSatisfy {
            [.keyValueCache, .crossAttention].contains(function.interface.role(of: $0.name, .state).kind)
        }
    }

    /// - Parameters:
    ///   - block: the tokens of the block, row by row.
    ///   - start: the position of its first token.
    func step(_ block: [Int64], at start: Int) -> RunStep {
        var inputs = held
        let rows = block.count / max(length, 1)
        inputs[tokens] = StoredTensor(name: tokens, integers: block, shape: [rows, length])
        inputs[position] = StoredTensor(name: position, integers: [Int64(start)], shape: positionShape)
        var step = RunStep(function: function, inputs: inputs)
        step.positions = start..<start + length
        return step
    }
}

extension FunctionPlan {
    /// How many positions its caches hold, the least of all; nil where it has none.
    fileprivate var cacheLength: Int? {
        states.compactMap { state in
            let role = interface.role(of: state.name, .state)
            guard role.kind == .keyValueCache, let axis = role.integer("axis") else { return nil }
            return state.shape.dimensions[axis]
        }.min()
    }
}
