import AccelFormats
import AccelPrograms
import AccelTensors

/// The results of one run of a Core ML package's function, and their comparison with a model's or a golden's.
struct CoreMLComparison {
    /// The outputs and states of a model.
    struct Expected {
        var outputs: [(name: String, tensor: HostTensor)]
        var states: [String: HostTensor]

        /// All outputs and states by name; an output goes before a state of its name.
        var all: [String: HostTensor] {
            states.merging(outputs.map { ($0.name, $0.tensor) }) { $1 }
        }

        func value(_ name: String) -> HostTensor? { outputs.first { $0.name == name }?.tensor ?? states[name] }

        func without(_ names: Set<String>) -> Expected {
            Expected(
                outputs: outputs.filter { !names.contains($0.name) }, states: states.filter { !names.contains($0.key) })
        }
    }

    let run: CoreMLRun
    /// The model's function; nil if there is only a golden.
    let model: FrozenProgram?
    let start: CoreMLStates
    /// The outputs by the package's names. An output that the package has in parts is also here as a whole.
    let outputs: [String: HostTensor]
    let states: [String: HostTensor]
    /// The positions whose outputs count.
    let positions: CountedPositions
    /// The suffix of the golden's sample.
    let suffix: String

    private static let stateSuffix = " (state)"

    /// Returns the name of the output or state that a finding compares.
    func name(of row: OutputFinding) -> String {
        let name = row.name.dropLast(suffix.count)
        return String(name.hasSuffix(Self.stateSuffix) ? name.dropLast(Self.stateSuffix.count) : name)
    }

    /// Measures one value of the model's runs against another, over the elements that a finding compares.
    func metrics(_ name: String, _ found: HostTensor, against wanted: HostTensor) -> Metrics {
        let isState = model?.program.outputs.contains { $0.name == name } == false
        guard isState, found.shape == wanted.shape, let (found, wanted) = start.changes(found, wanted, of: name) else {
            return positions.metrics(of: found, against: wanted)
        }
        return Metrics(found.floats, against: wanted.floats)
    }

    /// The names of all outputs and states of the model.
    var names: Set<String> {
        Set((model?.program.outputs.map(\.name) ?? []) + (model?.program.states.map(\.name) ?? []))
    }

    /// Returns the package's name for an output of the model or of a golden.
    private func own(_ name: String) -> String? {
        let identifier = CoreMLWeightMatcher.identifier(name)
        let own = outputs.keys.sorted().first {
            CoreMLWeightMatcher.output($0, besides: start.names) == identifier
        }
        if let own { return own }
        // Converters may rename outputs; then outputs are matched by index.
        let described = run.interface.outputs
        guard let known = model?.program.outputs, known.count == described.count,
            let index = known.firstIndex(where: { $0.name == name })
        else { return nil }
        return described[index].name
    }

    func add(
        _ stage: Stage, _ reference: OutputFinding.Reference, _ expected: Expected, _ result: inout OutputFindings,
        tolerance: (String) -> Tolerance
    ) {
        for output in expected.outputs {
            add(stage, reference, output.name, output.tensor, isRequired: true, &result, tolerance)
        }
        let names = model?.program.states.map(\.name).filter { expected.states[$0] != nil } ?? []
        addStates(stage, reference, names, expected.states, &result, tolerance)
    }

    /// Compares with a golden. Values that only the golden has are no failures.
    func add(
        _ golden: [String: HostTensor], _ result: inout OutputFindings, tolerance: (String) -> Tolerance
    ) {
        let known = names
        let states = Set((model?.program.states.map(\.name) ?? start.names).map(CoreMLWeightMatcher.identifier))
        func isState(_ name: String) -> Bool { states.contains(CoreMLWeightMatcher.identifier(name)) }
        for (name, tensor) in golden.sorted(by: { $0.key < $1.key }) where !isState(name) || own(name) != nil {
            add(.outputs, .golden, name, tensor, isRequired: known.contains(name), &result, tolerance)
        }
        let left = golden.keys.sorted().filter { isState($0) && own($0) == nil }
        addStates(.outputs, .golden, left, golden, &result, tolerance)
    }

    private func add(
        _ stage: Stage, _ reference: OutputFinding.Reference, _ name: String, _ expected: HostTensor, isRequired: Bool,
        _ result: inout OutputFindings, _ tolerance: (String) -> Tolerance
    ) {
        let value = ComparedValue(
            function: run.function, title: name + suffix, role: model?.program.interface.outputs[name],
            positions: positions)
        value.add(
            stage, reference, own(name).flatMap { outputs[$0] }, expected, tolerance(name), isRequired: isRequired,
            &result)
    }

    private func addStates(
        _ stage: Stage, _ reference: OutputFinding.Reference, _ names: [String], _ expected: [String: HostTensor],
        _ result: inout OutputFindings, _ tolerance: (String) -> Tolerance
    ) {
        start.compare(states, with: expected, of: names) { name, found, wanted in
            // An output may have the same name.
            let title = own(name) == nil ? name : name + Self.stateSuffix
            result.outputs.append(
                OutputFinding(
                    stage, function: run.function, name: title + suffix, nil, against: reference, found, wanted,
                    tolerance(name), at: .all))
        } skip: { name, reason in
            skip(stage, name, reason, &result)
        }
    }

    /// Lists the outputs and states that the package has and the model does not.
    func addSurplus(_ result: inout OutputFindings, stage: Stage) {
        guard let program = model?.program else { return }
        let parts = run.package.model.parts(of: run.interface.function)
        var known = Set(program.outputs.compactMap { own($0.name) })
        for (whole, parts) in parts where known.contains(whole) { known.formUnion(parts) }
        for output in run.interface.outputs where !known.contains(output.name) {
            skip(stage, output.name, "the model has no such output", &result)
        }
        let states = Set(program.states.map { CoreMLWeightMatcher.identifier($0.name) })
        for name in start.names where !states.contains(CoreMLWeightMatcher.identifier(name)) {
            skip(stage, name, "the model has no such state", &result)
        }
    }

    private func skip(_ stage: Stage, _ name: String, _ reason: String, _ result: inout OutputFindings) {
        result.skip(stage, "\(run.function) \(name)\(suffix)", reason, isRequired: true)
    }
}
