import AccelFormats
import AccelPrograms
import AccelTensors

/// Calls of a Core ML package's functions.
struct CoreMLExecutable: Executable {
    let functions: [CoreMLFunction]
    /// The model's function for each of the package's; nil where it has none.
    let models: [FrozenProgram?]
    /// The calls under the plan's names, each with the index of its function.
    let given: [(index: Int, call: FeedCall, function: ComparedFunction)]
    let sequence: CoreMLSequence

    var calls: Range<Int> { given.indices }

    func noises(seed: UInt64) -> [RoundingNoise] {
        guard let arithmetic = given.first?.function.graphLimit.arithmetic else { return [] }
        return RoundingNoise.runs(
            arithmetic, over: given.flatMap { models[$0.index]?.outputs.map(\.shape) ?? [] }, seed: seed)
    }

    func call(_ number: Int) -> (FeedCall, ComparedFunction) {
        let (index, call, function) = given[number]
        return (models[index].map { call.named(for: $0, besides: functions[index]) } ?? call, function)
    }

    func run(_ number: Int) throws -> ExecutedCall {
        let (index, call, compared) = given[number]
        let (function, model) = (functions[index], models[index])
        let values = try sequence.run(index, call).outputs
        let outputs = compared.outputs.reduce(into: [:]) {
            $0[$1] = function.output($1, model).flatMap { values[$0] }
        }
        let states = compared.states.reduce(into: [String: HostTensor]()) { states, name in
            guard let state = function.state(name) else { return }
            let shape = Shape(state.type.sizes ?? [])
            states[name] =
                sequence.states[state.name] ?? HostTensor([Float](repeating: 0, count: shape.count), shape)
        }
        let ofModel = model?.program.outputs.map(\.name) ?? []
        return .init(
            results: (outputs, states), surplus: model.map { surplus(of: function, $0, call) } ?? [],
            missing: { name in
                // Values that only the golden has are no failures.
                ofModel.contains(name) || compared.states.contains(name)
                    ? nil : ("the package gives no such output", false)
            })
    }

    /// Returns the outputs and states that a model does not have.
    private func surplus(of function: CoreMLFunction, _ model: FrozenProgram, _ call: FeedCall) -> [String] {
        var known = Set(model.program.outputs.compactMap { function.output($0.name, model) })
        for (whole, parts) in function.package.model.parts(of: function.interface.function)
        where known.contains(whole) {
            known.formUnion(parts)
        }
        let states = Set(model.program.states.map { CoreMLWeightMatcher.identifier($0.name) })
        return function.interface.outputs.map(\.name).filter { !known.contains($0) }.map(call.outputName)
            + function.interface.states.map(\.name).filter { name in
                call.stateName != nil && !states.contains(CoreMLWeightMatcher.identifier(name))
            }.map { call.stateName?($0) ?? $0 }
    }
}

extension FeedCall {
    /// Returns the call with a model's names and types. Inputs that the package does not take get the frameworks' defaults: ones for a
    /// mask, else zeros.
    func named(for model: FrozenProgram, besides function: CoreMLFunction) -> FeedCall {
        let (given, made) = (CoreMLWeightMatcher.identified(inputs), CoreMLWeightMatcher.identified(carried))
        let held = CoreMLWeightMatcher.identified(states)
        var call = self
        (call.inputs, call.carried, call.states) = ([:], [:], [:])
        for input in model.program.inputs {
            let (type, identifier) = (
                model.program.type(of: input.value), CoreMLWeightMatcher.identifier(input.name)
            )
            if function.takes(input.name) {
                call.inputs[input.name] = given[identifier]?.cast(to: type.elementType)
                call.carried[input.name] = made[identifier]
            } else {
                let isMask = model.program.interface.inputs[input.name]?.kind == .attentionMask
                let fill = [Float](repeating: isMask ? 1 : 0, count: type.shape?.count ?? 0)
                call.inputs[input.name] = HostTensor(fill, type.shape ?? []).cast(to: type.elementType)
            }
        }
        for state in model.program.states {
            call.states[state.name] = held[CoreMLWeightMatcher.identifier(state.name)]
        }
        return call
    }
}
