public import AccelPrograms
public import AccelTensors

/// One run of a function in a sequence of runs over shared states.
public struct RunStep: Sendable {
    /// In the program.
    public let function: Int
    public let inputs: [String: StoredTensor]
    /// Inputs that are outputs of steps before it: the output's name by the input's.
    public var carried: [String: String] = [:]
    /// What states are set to before it.
    public var states: [StoredTensor] = []
    /// The places of the tokens that it takes; nil when it takes none.
    public var places: Range<Int>?
    /// What is put after the names of its outputs where steps make outputs of the same name, e.g. `.0`.
    public var suffix = ""

    public init(function: Int, inputs: [String: StoredTensor]) {
        self.function = function
        self.inputs = inputs
    }

    /// All inputs.
    /// - Parameter made: what the steps before it made, by name.
    public func inputs<Made>(
        carrying made: [String: Made], _ converted: (StoredTensor) -> Made
    ) -> [String: Made] {
        inputs.mapValues(converted).merging(carried.compactMapValues { made[$0] }) { own, _ in own }
    }
}

extension Session {
    /// Sets the states that a step sets and runs it.
    /// - Parameter made: what the steps before it made, by name.
    public func run(_ step: RunStep, carrying made: [String: StoredTensor]) throws -> [StoredTensor] {
        try states.set(step.states)
        return try run(step.function, step.inputs(carrying: made) { $0 })
    }
}

extension CompiledFunction {
    /// The states that it writes to.
    public var changedStates: [FrozenProgram.State] {
        let written = Set(calls.flatMap(\.outputs).map(\.storage))
        return states.indices.filter { written.contains(.state($0)) }.map { states[$0] }
    }
}
