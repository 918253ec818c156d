import AccelPrograms
import AccelTensors

/// One call of a runtime, with the model's function for the same inputs.
struct RuntimeRun {
    /// The function's name in the export, or the model's part.
    let function: String
    let model: FrozenProgram
    /// Runs of the same number share states and take outputs of each other.
    let sequence: Int
    var call: FeedCall
    /// The values of a golden, by the names of outputs and states.
    var expected: [String: HostTensor] = [:]

    init(function: String, model: FrozenProgram, sequence: Int, _ call: FeedCall) {
        (self.function, self.model, self.sequence, self.call) = (function, model, sequence, call)
        let positions = CountedPositions(call.inputs, of: model.program.interface)
        (self.call.positions, self.call.statePositions) = (positions, { _ in positions })
    }

    var inputs: [String: HostTensor] { call.inputs }

    /// The states that the function changes, if they are compared.
    var changedStates: [String] {
        call.stateName == nil ? [] : model.program.states.filter { $0.next != $0.value }.map(\.name)
    }

    /// The compared states: those that are no outputs.
    var states: [String] {
        let outputs = model.program.outputs.map(\.name)
        return changedStates.filter { !outputs.contains($0) }
    }

    /// The names of all results.
    var results: [String] { model.program.outputs.map(\.name) + states }

    /// A golden has all results.
    var isAnswered: Bool { results.allSatisfy { expected[$0] != nil } }

    /// The role of a result; states have none.
    func role(_ name: String) -> Role? { model.program.interface.outputs[name] }
}
