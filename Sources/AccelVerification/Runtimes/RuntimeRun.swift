import AccelPrograms
import AccelTensors

/// One call of a runtime, with the model's function for the same inputs.
struct RuntimeRun {
    /// The function's name in the export, or the model's part.
    let function: String
    let model: FrozenProgram
    /// Runs of the same number share states and take outputs of each other.
    let sequence: Int
    /// By the model's names.
    var inputs: [String: HostTensor]
    /// Inputs that are outputs of earlier runs of the sequence: the output's name by the input's.
    var carried: [String: String] = [:]
    /// Values that states have before the run, by name; others stay as they are, and start as the function's initial values.
    var states: [String: HostTensor] = [:]
    /// The values of a golden, by the names of outputs and states.
    var expected: [String: HostTensor] = [:]
    /// Returns the name of an output in reports.
    var outputName: @Sendable (String) -> String = { $0 }
    /// Returns the name of a state in reports; nil if states are not compared.
    var stateName: (@Sendable (String) -> String)?

    /// The states that the function changes, if they are compared.
    var changedStates: [String] {
        stateName == nil ? [] : model.program.states.filter { $0.next != $0.value }.map(\.name)
    }

    /// All results by the names of `expected`: outputs, then states that are no outputs.
    var results: [(name: String, isState: Bool, title: String)] {
        let outputs = model.program.outputs.map(\.name)
        return outputs.map { ($0, false, outputName($0)) }
            + changedStates.filter { !outputs.contains($0) }.map { ($0, true, stateName?($0) ?? $0) }
    }

    /// The role of a result; states have none.
    func role(_ name: String) -> Role? { model.program.interface.outputs[name] }
}

/// The reference implementation's results of all runs.
struct RuntimeReference {
    /// By run, then by name.
    private(set) var results: [[String: HostTensor]] = []

    /// - Parameters:
    ///   - noise: the errors of each result; nil for a run without errors.
    ///   - constant: returns the weights and tables.
    init(
        _ runs: [RuntimeRun], noise: RoundingNoise? = nil, constant: (Program.Constant) throws -> HostTensor
    ) throws {
        var (states, made): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
        var sequence = -1
        for run in runs {
            if run.sequence != sequence { (states, made, sequence) = ([:], [:], run.sequence) }
            try run.model.requireMemoryForInputs()
            states.merge(run.states) { $1 }
            let inputs = run.inputs.merging(run.carried.compactMapValues { made[$0] }) { own, _ in own }
            let outputs = try run.model.evaluate(
                inputs, states: &states, operand: { .tensor(try constant($0)) },
                evaluate: RoundingNoise.evaluation(noise))
            made.merge(outputs.map { ($0.name, $0.tensor) }) { $1 }
            var results = states.filter { run.changedStates.contains($0.key) }.mapValues { $0.wideningRows() }
            results.merge(outputs.map { ($0.name, $0.tensor) }) { $1 }
            self.results.append(results)
        }
    }
}
