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
    /// The model's function with the same sizes, and with activations rounded as in the package; nil without a model.
    let frozen: FrozenProgram?
    /// The same with states as the model has them, if the package keeps them in another element type; else nil.
    var withOwnStates: FrozenProgram?
    let runner: PackageRunner
    let stored: StoredWeights
    /// Names of the weights that differ from the checkpoint's after decoding.
    let lossy: Set<String>
    /// The same function, and the package's execution plan, with all activations in float32; nil if none are rounded.
    var unrounded: Unrounded?

    /// A package that rounds activations, without these roundings. Float32 arithmetic in another order moves some activations
    /// to the next step, and each of those moves others, so that two correct runs soon differ by as much as the rounding itself.
    /// The graph is compared without the roundings therefore; the operators are compared with them.
    struct Unrounded {
        let program: ModelPlan
        let frozen: FrozenProgram?
        let runner: PackageRunner
    }

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

    /// Some activations are rounded to 8 bits.
    var roundsActivations: Bool { function.calls.contains { $0.operation is QuantizedLinear } }

    /// The run that the graph stage compares: this one, or one without rounded activations.
    var ofGraph: FunctionRun {
        guard let unrounded else { return self }
        return FunctionRun(
            index: index, function: unrounded.program.functions[index], feed: feed, golden: golden,
            frozen: unrounded.frozen, withOwnStates: withOwnStates, runner: unrounded.runner, stored: stored,
            lossy: lossy)
    }

    /// The model's function as it is, with its own states and all activations in float32; nil without a model.
    var original: FrozenProgram? { withOwnStates ?? unrounded?.frozen ?? frozen }

    /// The tolerance for outputs against the model as it is; nil if the package loses nothing.
    var schemeTolerance: Tolerance? {
        let lossy = lossyWeights.map { stored.tensors[$0] }
        guard !lossy.isEmpty || roundsStates || roundsActivations else { return nil }
        return .scheme(
            ofOutputsReading: lossy, roundsStates: roundsStates, roundsActivations: roundsActivations)
    }

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

extension ModelPlan {
    /// The plan with all activations in float32; nil if none are rounded.
    var withFloatActivations: ModelPlan? {
        var plan = self
        var isChanged = false
        for function in plan.functions.indices {
            for call in plan.functions[function].calls.indices {
                guard let linear = plan.functions[function].calls[call].operation as? QuantizedLinear else { continue }
                plan.functions[function].calls[call].operation = Linear(activation: linear.activation)
                isChanged = true
            }
        }
        return isChanged ? plan : nil
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
