import Programs
import Tensors

/// A decoder function that takes blocks of a sequence's tokens and writes what it makes of them into a cache.
struct TokenFeed: Sendable {
    /// In the program.
    let function: Int
    /// Tokens in a block.
    let length: Int
    /// Places of the cache.
    let room: Int
    let states: Set<CompiledFunction.State>
    /// The input that takes the tokens: I64[batch, length].
    let tokens: String
    /// The input that takes the place of a block's first token: I64 of one element.
    let position: String
    private let positionShape: Shape
    /// Further inputs, the same for each block.
    let held: [String: StoredTensor]

    /// Nil when the function takes no blocks of tokens, or has an input that `tensors` do not hold.
    init?(_ index: Int, _ function: CompiledFunction, _ tensors: [String: StoredTensor]) {
        guard let cache = function.cache else { return nil }
        let place = function.inputs[cache.place]
        guard
            let tokens = function.inputs.first(where: { port in
                guard port.name != place.name, port.elementType == .int64, port.shape.rank == 2,
                    let given = tensors[port.name], given.elementType == .int64, given.shape.rank == 2
                else { return false }
                return given.shape.dimensions[0] == port.shape.dimensions[0]
            })
        else { return nil }
        var held: [String: StoredTensor] = [:]
        for port in function.inputs where port.name != tokens.name && port.name != place.name {
            guard let given = tensors[port.name], given.elementType == port.elementType, given.shape == port.shape
            else { return nil }
            held[port.name] = given
        }
        self.function = index
        length = tokens.shape.dimensions[1]
        room = cache.room
        states = Set(function.states)
        self.tokens = tokens.name
        (position, positionShape) = (place.name, place.shape)
        self.held = held
    }

    /// - Parameters:
    ///   - block: the tokens of the block, row by row.
    ///   - place: that of its first token.
    func step(_ block: [Int64], at place: Int) -> RunStep {
        var inputs = held
        let rows = block.count / max(length, 1)
        inputs[tokens] = StoredTensor(name: tokens, integers: block, shape: [rows, length])
        inputs[position] = StoredTensor(name: position, integers: [Int64(place)], shape: positionShape)
        var step = RunStep(function: function, inputs: inputs)
        step.places = place..<place + length
        return step
    }
}

extension CompiledFunction {
    /// Of a function that writes blocks into states at a place that an input says: that input's index, and how many places
    /// there are.
    fileprivate var cache: (place: Int, room: Int)? {
        var found: (place: Int, room: Int)?
        for call in calls {
            guard let update = call.operation as? UpdateSlice, case .state = call.outputs[0].storage,
                case .input(let index) = call.inputs[2].storage, inputs.indices.contains(index),
                inputs[index].shape.count == 1
            else { continue }
            let room = call.outputs[0].shape.dimensions[update.axis]
            found = (index, min(found?.room ?? room, room))
        }
        return found
    }
}
