import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// A function that takes blocks of a file's tokens, with the further inputs that the file has for it.
struct TokenFeed: Sendable {
    let taker: TokenFunction
    /// Further inputs by name, the same for each block.
    let held: [String: StoredTensor]

    /// The index of the function in the program.
    var function: Int { taker.index }
    var length: Int { taker.length }

    /// Nil when the function takes no blocks of tokens, or has an input that `tensors` do not hold.
    init?(_ index: Int, of program: ModelPlan, _ tensors: [String: StoredTensor]) {
        guard let taker = TokenFunction(index, FunctionDescription(program.graph[index])),
            let given = tensors[taker.tokens.name], given.holdsIndices, given.shape.rank == 2,
            given.shape.dimensions[0] == taker.rows
        else { return nil }
        var held: [String: StoredTensor] = [:]
        for port in program.functions[index].inputs
        where port.name != taker.tokens.name && port.name != taker.position.name {
            guard let given = tensors[port.name]?.fitting(port) else { return nil }
            held[port.name] = given
        }
        (self.taker, self.held) = (taker, held)
    }

    /// - Parameters:
    ///   - block: the tokens of the block, row by row.
    ///   - start: the position of its first token.
    func step(_ block: [Int64], at start: Int) -> RunStep {
        var inputs = held
        let (tokens, position) = (taker.tokens.name, taker.position)
        inputs[tokens] = StoredTensor(name: tokens, integers: block, shape: [block.count / length, length])
        inputs[position.name] = StoredTensor(name: position.name, integers: [Int64(start)], shape: position.shape)
        var step = RunStep(function: function, inputs: inputs)
        step.positions = start..<start + length
        return step
    }
}
