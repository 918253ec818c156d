import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A package beside its model: what the runs of its functions share.
struct PackageSides {
    let program: ModelPlan
    /// nil without a model.
    let model: ReferenceModel?
    /// Names of the weights that differ from the checkpoint's after decoding.
    let lossy: Set<String>
    /// Names of the weights that are not the checkpoint's in their scheme.
    let wrong: Set<String>
    let runner: PackageRunner
    /// The package with all activations in float32; nil if none are rounded.
    let floats: (program: ModelPlan, runner: PackageRunner)?
    private let stored: StoredWeights

    init(
        _ program: ModelPlan, _ model: ReferenceModel?, lossy: Set<String>, wrong: Set<String> = [], threads: Int,
        fault: KernelFault? = nil
    ) {
        (self.program, self.model, self.lossy, self.wrong) = (program, model, lossy, wrong)
        runner = PackageRunner(program, threads: threads, fault: fault)
        floats = program.withFloatActivations.map { ($0, PackageRunner($0, threads: threads)) }
        stored = StoredWeights(program.weights)
    }

    /// - Parameter golden: the golden that the inputs are from, reduced to one sample.
    func run(_ index: Int, _ feed: FunctionFeed = FunctionFeed(), golden: Golden? = nil) -> FunctionRun {
        FunctionRun(
            index: index, function: program.functions[index], feed: feed, golden: golden,
            frozen: model?.functions[index], withOwnStates: model?.withOwnStates?[index], runner: runner,
            stored: stored, lossy: lossy, wrong: wrong,
            unrounded: floats.map {
                .init(program: $0.program, frozen: model?.unrounded[index], runner: $0.runner)
            })
    }
}

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
    /// Names of the weights that are not the checkpoint's in their scheme.
    var wrong: Set<String> = []
    /// The same function, and the package's execution plan, with all activations in float32; nil if none are rounded.
    var unrounded: Unrounded?
    /// The model's function with the package's roundings of states and activations, which `frozen` does not have; nil if there are none.
    var rounded: FrozenProgram?

    /// A package that rounds activations, without these roundings. Float32 arithmetic in another order moves some activations
    /// to the next step, and each of those moves others, so that two correct runs soon differ by as much as the rounding itself.
    /// The graph is compared without the roundings therefore; the operators are compared with them.
    struct Unrounded {
        let program: ModelPlan
        let frozen: FrozenProgram?
        let runner: PackageRunner
    }

    var inputs: [String: HostTensor] { feed.inputs }
    /// The positions whose outputs count.
    var positions: CountedPositions { CountedPositions(inputs, of: interface).counting(feed.rows) }
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

    /// How activations are rounded, each way once.
    private var roundings: Set<QuantizedLinear.Rounding> {
        Set(function.calls.compactMap { ($0.operation as? QuantizedLinear)?.rounding })
    }

    /// The run that the graph stage compares: this one, or one without rounded activations.
    var ofGraph: FunctionRun {
        guard let unrounded else { return self }
        return FunctionRun(
            index: index, function: unrounded.program.functions[index], feed: feed, golden: golden,
            frozen: unrounded.frozen, withOwnStates: withOwnStates, runner: unrounded.runner, stored: stored,
            lossy: lossy, wrong: wrong)
    }

    /// The model's function as it is, with its own states and all activations in float32; nil without a model.
    var original: FrozenProgram? { withOwnStates ?? unrounded?.frozen ?? frozen }

    /// The run that the outputs stage compares: this one, against the model as it is.
    var ofOutputs: FunctionRun {
        FunctionRun(
            index: index, function: function, feed: feed, golden: golden, frozen: original,
            withOwnStates: withOwnStates,
            runner: runner, stored: stored, lossy: lossy, wrong: wrong, rounded: frozen)
    }

    /// The package rounds values of its runs that the model does not round, so each stage has a reference of its own.
    var roundsValues: Bool { roundsStates || unrounded != nil }

    /// The package loses something: its weights do, or it rounds states or activations.
    var isLossy: Bool { rounded != nil || !lossyWeights.isEmpty || roundsStates || !roundings.isEmpty }

    /// The outputs may lose what the package's schemes lose.
    var allowsLoss: Bool { isLossy && lossyWeights.allSatisfy { !wrong.contains(stored.tensors[$0].name) } }

    /// The tolerance for outputs against a golden where there is no model that says how much is lost; nil if nothing is.
    var schemeTolerance: Tolerance? {
        guard isLossy else { return nil }
        return .scheme(
            ofOutputsReading: lossyWeights.map { stored.tensors[$0] }, states: roundedStates, activations: roundings)
    }

    /// Returns the default tolerance of an output: a lossy one may lose what its reference does.
    /// - Parameters:
    ///   - reference: the model's output with the stored weights and the package's roundings; nil without a model.
    ///   - strict: the tolerance of an output that loses nothing.
    ///   - positions: those that count; nil for the run's.
    func tolerance(
        _ reference: HostTensor?, against expected: HostTensor?, strict: Tolerance,
        at positions: CountedPositions? = nil
    ) -> Tolerance {
        guard allowsLoss else { return strict }
        guard frozen != nil else { return schemeTolerance ?? strict }
        guard let reference, let expected, reference.shape == expected.shape else { return strict }
        let positions = positions ?? self.positions
        return Tolerance.rounding.allowing(
            loss: positions.metrics(of: reference, against: expected))
    }

    /// Returns the name of an output or state in reports: with the function's, and the number of the sample.
    func name(ofResult name: String) -> String { "\(function.name) \(name)\(suffix)" }

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

    /// The storage of states to which the package rounds; `float32` if it does not.
    private var roundedStates: StateStorage { roundsStates ? function.stateStorage : .float32 }

    /// The tolerance of outputs against the model with the stored weights.
    var rounding: Tolerance { .rounding(in: function.stateStorage) }

    /// Returns a weight or table of the model.
    static func originalOperand(of constant: Program.Constant) throws -> ReferenceOperand {
        ReferenceOperand(try constant.requireTensor())
    }

    /// Returns a weight or table of the model; a weight that has lost something is decoded from the package's bytes.
    func storedOperand(of constant: Program.Constant) throws -> ReferenceOperand {
        guard constant.isWeight, lossy.contains(constant.name), let index = stored.index(of: constant.name) else {
            return try Self.originalOperand(of: constant)
        }
        return try stored.operand(at: index)
    }

    /// Returns the value of a constant of the model, decoded from the package's weights.
    func storedValue(of constant: Program.Constant) throws -> HostTensor { try storedOperand(of: constant).tensor }

    /// Returns the results of the reference implementation by name.
    func results(
        of frozen: FrozenProgram, with constant: @escaping (Program.Constant) throws -> ReferenceOperand
    ) throws -> [String: HostTensor] {
        let reference = FollowingReference(of: frozen, feed, constant: constant)
        try reference.finish()
        return reference.results
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
    /// The storage of the function's key/value caches: the one that loses most.
    var stateStorage: StateStorage {
        StateStorage.allCases.last { storage in
            storage != .float32 && states.contains { $0.elementType == storage.elementType }
        } ?? .float32
    }

    /// The results of a run: the outputs, and the changed states that are not outputs.
    var results: [FrozenProgram.Port] {
        let given = outputs.map {
            FrozenProgram.Port(name: $0.name, elementType: $0.operand.elementType, shape: $0.operand.shape)
        }
        let names = Set(given.map(\.name))
        return given + changedStates.map(\.port).filter { !names.contains($0.name) }
    }
}
