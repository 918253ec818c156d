package import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// One run of a function in a sequence of runs over shared states.
package struct RunStep: Sendable {
    /// The index of the function in the program.
    package let function: Int
    /// Inputs by name, without the carried ones.
    package let inputs: [String: StoredTensor]
    /// Inputs that are outputs of earlier steps: the output's name by the input's name.
    package var carried: [String: String] = [:]
    /// Values that states are set to before the step.
    package var states: [StoredTensor] = []
    /// The positions of its tokens that no step before has taken; nil if it takes none.
    package var positions: Range<Int>?
    /// The rows of its outputs that belong to `positions`; nil for all. The other ones are of tokens of earlier steps, or of none.
    package var rows: Range<Int>?
    /// A suffix of its outputs' names that tells them from those of other steps, e.g. `.0`.
    package var suffix = ""

    /// It is one of several runs on the rows of a file's tensors: its outputs are rows of those of all.
    package var isOfRows = false

    /// Creates a step without carried inputs and states.
    package init(function: Int, inputs: [String: StoredTensor]) {
        self.function = function
        self.inputs = inputs
    }

    /// All inputs.
    /// - Parameter made: the outputs of earlier steps, by name.
    package func inputs<Made>(
        carrying made: [String: Made], _ converted: (StoredTensor) -> Made
    ) -> [String: Made] {
        inputs.mapValues(converted).merging(carried.compactMapValues { made[$0] }) { own, _ in own }
    }
}

extension Session {
    /// Sets the states that a step sets and runs it.
    /// - Parameter made: the outputs of earlier steps, by name.
    package func run(_ step: RunStep, carrying made: [String: StoredTensor]) throws -> [StoredTensor] {
        try states.set(step.states)
        return try run(step.function, step.inputs(carrying: made) { $0 })
    }

    /// Sets the states that a step sets, runs it, and copies the requested outputs.
    /// - Parameter made: the outputs of earlier steps, by name.
    package func run(
        _ step: RunStep, carrying made: [String: StoredTensor], requesting requested: RequestedOutputs
    ) throws -> [StoredTensor] {
        try states.set(step.states)
        return try executor(of: step.function).run(step.inputs(carrying: made) { $0 }, requesting: requested)
    }
}
