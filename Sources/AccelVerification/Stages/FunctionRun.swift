import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// One function of the subject with its inputs, and the results that its stages share.
struct FunctionRun {
    let index: Int
    let function: FunctionPlan
    let feed: FunctionFeed
    /// The golden that the inputs are from, reduced to one sample.
    let golden: Golden?
    /// The model's function with the same sizes; nil without a model.
    let frozen: FrozenProgram?
    /// The same with states as the model has them, if the package keeps them in another element type; else nil.
    var withOwnStates: FrozenProgram?
    let runner: PackageRunner
    let stored: StoredWeights
    /// Names of the weights that differ from the checkpoint's after decoding.
    let lossy: Set<String>

    var inputs: [String: HostTensor] { feed.inputs }
    /// The model's interface, or the plan's without a model.
    var interface: Interface { frozen?.program.interface ?? function.interface }

    /// The compared results: the outputs, and the changed states that are not outputs. They are the model's if there is
    /// one, so that results missing from the package are found.
    var results: [FrozenProgram.Port] { frozen?.results ?? function.results }

    /// The outputs that the package has and the model does not.
    var surplus: [FrozenProgram.Port] {
        let names = Set(results.map(\.name))
        return function.results.filter { !names.contains($0.name) }
    }

    /// The suffix of output names: the number of the sample.
    var suffix: String { golden?.suffix ?? "" }

    /// The weights that this function reads and whose encoding is lossy.
    var lossyWeights: [Int] {
        var indices = Set<Int>()
        for operand in function.calls.flatMap(\.inputs) + function.outputs.map(\.operand) {
            if case .weight(let index) = operand.storage, stored.tensors.indices.contains(index) {
                indices.insert(index)
            }
        }
        return indices.filter { lossy.contains(stored.tensors[$0].name) }.sorted()
    }

    /// Whether the package rounds states that the model does not.
    var roundsStates: Bool { withOwnStates != nil }

    /// The tolerance of outputs against the model with the stored weights.
    var rounding: Tolerance { function.hasHalfStates ? .roundedStates : .rounding }

    /// The default tolerance of outputs against the model with its original weights and states.
    var scheme: Tolerance {
        .scheme(ofOutputsReading: lossyWeights.map { stored.tensors[$0] }, roundsStates: roundsStates)
    }

    /// Returns the value of a constant of the model, decoded from the package's weights.
    func storedValue(of constant: Program.Constant) throws -> HostTensor {
        guard constant.isWeight, lossy.contains(constant.name), let index = stored.index(of: constant.name) else {
            return try HostTensor(constant.requireTensor())
        }
        return try stored.tensor(at: index)
    }
}

/// The results of runs of the reference.
struct ReferenceValues {
    /// Outputs by name.
    var outputs: [String: HostTensor] = [:]
    /// Results of the nodes that became calls, by label.
    var byLabel: [String: [HostTensor]] = [:]
}

extension FunctionRun {
    /// Returns the results of the reference implementation with the original weights.
    /// - Parameter calls: the calls whose nodes' results are kept too.
    func originalValues(of frozen: FrozenProgram, keeping calls: ArraySlice<KernelCall>) throws -> ReferenceValues {
        let wanted = Set(calls.map(\.label))
        var values = ReferenceValues()
        values.outputs = try frozen.results(
            of: feed,
            observe: { node, results in
                if wanted.contains(node.label) { values.byLabel[node.label] = results }
            })
        return values
    }

    /// Returns the outputs of the reference implementation with the stored weights.
    func storedOutputs(of frozen: FrozenProgram) throws -> [String: HostTensor] {
        try frozen.results(of: feed, constant: storedValue)
    }
}

extension FunctionPlan {
    fileprivate var hasHalfStates: Bool { states.contains { $0.elementType == .float16 } }

    /// The results of a run: the outputs, and the changed states that are not outputs.
    var results: [FrozenProgram.Port] {
        let given = outputs.map {
            FrozenProgram.Port(name: $0.name, elementType: $0.operand.elementType, shape: $0.operand.shape)
        }
        let names = Set(given.map(\.name))
        return given + changedStates.map(\.port).filter { !names.contains($0.name) }
    }
}

extension FrozenProgram {
    /// Returns the results of a run of the reference implementation, in the form of `FunctionPlan.results`.
    fileprivate func results(
        of feed: FunctionFeed,
        constant: (Program.Constant) throws -> HostTensor = { try HostTensor($0.requireTensor()) },
        observe: (Program.Node, [HostTensor]) throws -> Void = { _, _ in }
    ) throws -> [String: HostTensor] {
        var states = feed.states
        let outputs = try evaluate(feed.inputs, states: &states, constant: constant, observe: observe)
        return Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }.merging(states) { own, _ in own }
    }
}
