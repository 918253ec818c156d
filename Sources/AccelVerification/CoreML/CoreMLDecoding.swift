import Accel
import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors

/// S3 and S4 of a Core ML package's functions that share states, on sequences of blocks of tokens, those of a golden or of samples: by the
/// reference implementation of the package's operations and by that of the model.
struct CoreMLDecoding {
    struct Result {
        var outputs: [OutputFinding] = []
        var notCompared: [NotCompared] = []
        /// The functions of the blocks.
        var functions: Set<String> = []
        /// The number of runs of the package.
        var runs = 0
    }
    let package: CoreMLPackage
    let sequences: [SampleDecoding.Sequence]
    /// The package's functions as programs, in their order.
    let functions: [FrozenProgram]
    /// Where the sequences are from; nil for samples.
    let golden: Golden?
    let programs: [Program]
    /// The package's weights by the model's names.
    let stored: [String: StoredTensor]
    let limits: CoreMLLimits

    /// The results of one side's runs: the package, the model with the stored weights, or the model with its own
    /// weights.
    private struct Side {
        var states: [String: HostTensor] = [:]
        /// All outputs so far.
        var made: [String: HostTensor] = [:]
        /// The outputs of the last block.
        var outputs: [String: HostTensor] = [:]

        mutating func run(
            _ function: FrozenProgram, _ inputs: (_ made: [String: HostTensor]) -> [String: HostTensor],
            joining: ([String: HostTensor]) throws -> [String: HostTensor] = { $0 },
            constant: (Program.Constant) throws -> HostTensor = { try HostTensor($0.requireTensor()) },
            noise: RoundingNoise? = nil
        ) throws {
            let results: [(name: String, tensor: HostTensor)] = try function.evaluate(
                inputs(made), states: &states, operand: { .tensor(try constant($0)) },
                evaluate: RoundingNoise.evaluation(noise))
            outputs = try joining(Dictionary(results.map { ($0.name, $0.tensor) }) { first, _ in first })
            made.merge(outputs) { $1 }
        }
    }

    func result(_ options: Parity.Options) throws -> Result {
        let names = package.model.interfaces.map(\.function)
        let models = try package.model.interfaces.map { interface in
            try CoreMLRun(
                package: package, interface: interface, source: options.inputs, stored: stored, limits: limits
            ).reference(programs, [:])
        }
        var result = Result()
        result.runs = sequences.reduce(0) { $0 + $1.blocks.count }
        for sequence in sequences {
            let first = result.outputs.count
            try compare(sequence, models, names, options, &result)
            guard result.outputs[first...].contains(where: \.isBeyondArithmetic) else { continue }
            let noises = try noise(of: sequence, models, seed: options.inputs.samplingSeed)
            for index in result.outputs.indices[first...] where result.outputs[index].isBeyondArithmetic {
                result.outputs[index] = result.outputs[index].allowing(noises[result.outputs[index].name])
            }
        }
        for index in Set(sequences.flatMap(\.blocks).map(\.step.function)).sorted() {
            result.functions.insert(names[index])
            guard models[index] == nil, !programs.isEmpty else { continue }
            result.notCompared.append(
                NotCompared(
                    stage: .outputs, name: names[index], reason: "no part of the model has its inputs",
                    isRequired: true))
        }
        return result
    }

    private func compare(
        _ sequence: SampleDecoding.Sequence, _ models: [FrozenProgram?], _ names: [String], _ options: Parity.Options,
        _ result: inout Result
    ) throws {
        var (own, ofStored, original) = (Side(), Side(), Side())
        for block in sequence.blocks {
            let index = block.step.function
            for state in block.step.states { own.states[state.name] = HostTensor.content(state) }
            (ofStored.states, original.states) = (
                block.step.states.isEmpty ? ofStored.states : own.states,
                block.step.states.isEmpty ? original.states : own.states
            )
            func inputs(_ made: [String: HostTensor]) -> [String: HostTensor] {
                block.step.inputs(carrying: made) { HostTensor($0) }
            }
            try own.run(functions[index], inputs) { try package.joiningParts(of: $0, in: names[index]) }
            if let model = models[index] {
                func own(_ made: [String: HostTensor]) -> [String: HostTensor] {
                    renamed(inputs(made), as: model.program.inputs.map(\.name))
                }
                try ofStored.run(model, own, constant: storedValue)
                if options.stages.contains(.outputs) { try original.run(model, own) }
            }
            let known = models[index]?.program
            let states = functions[index].program.states.map(\.name)
            let recorded = functions[index].program.interface.outputs.map {
                (CoreMLWeightMatcher.output($0, besides: states), $1)
            }
            let rows = Rows(
                function: names[index], states: states, known: known != nil,
                roles: Dictionary(recorded) { first, _ in first },
                options: options, positions: sequence.positions(of: block, in: functions[index]))
            let parts = package.model.parts(of: names[index]).values.joined()
            add(
                rows, own.outputs.filter { !parts.contains($0.key) }, ofStored.outputs, original.outputs,
                known?.outputs.map(\.name) ?? [], { block.name($0) }, &result)
            guard let prefix = block.states else { continue }
            let changed = functions[index].program.states.filter { $0.next != $0.value }.map(\.name)
            let changes = known?.states.filter { $0.next != $0.value }.map(\.name) ?? []
            add(
                rows, own.states.filter { changed.contains($0.key) }, ofStored.states, original.states, changes,
                { prefix + $0 }, &result)
        }
    }

    private func storedValue(of constant: Program.Constant) throws -> HostTensor {
        try HostTensor(stored[constant.name] ?? constant.requireTensor())
    }

    /// Measures the noise of float16 arithmetic in the results of a sequence, by the names of findings.
    private func noise(
        of sequence: SampleDecoding.Sequence, _ models: [FrozenProgram?], seed: UInt64
    ) throws -> [String: Metrics] {
        var noises: [String: Metrics] = [:]
        let noise = RoundingNoise(arithmetic: .float16, seed: seed)
        var (plain, moved) = (Side(), Side())
        for block in sequence.blocks {
            guard let model = models[block.step.function] else { continue }
            if !block.step.states.isEmpty {
                plain.states = block.step.states.reduce(into: [:]) { $0[$1.name] = HostTensor.content($1) }
                moved.states = plain.states
            }
            func inputs(_ made: [String: HostTensor]) -> [String: HostTensor] {
                renamed(block.step.inputs(carrying: made) { HostTensor($0) }, as: model.program.inputs.map(\.name))
            }
            try plain.run(model, inputs, constant: storedValue)
            try moved.run(model, inputs, constant: storedValue, noise: noise)
            let positions = sequence.positions(of: block, in: functions[block.step.function])
            for (name, tensor) in moved.outputs {
                guard let other = plain.outputs[name] else { continue }
                noises.measure(
                    block.name(name), positions.metrics(of: tensor, against: other))
            }
            guard let prefix = block.states else { continue }
            for (name, tensor) in moved.states {
                guard let other = plain.states[name] else { continue }
                noises.measure(prefix + name, Metrics(tensor.floats, against: other.floats))
            }
        }
        return noises
    }

    /// The values that the comparisons of one block share.
    private struct Rows {
        let function: String
        /// The names of the function's states.
        let states: [String]
        /// The model has the function.
        let known: Bool
        /// The roles that the package records for its outputs, for comparisons without a model.
        let roles: [String: Role]
        let options: Parity.Options
        /// The positions of outputs that count.
        let positions: CountedPositions
    }

    /// Compares values with the model's, and with the golden's values of the names that `name` returns.
    /// - Parameter names: the names of the model's values.
    private func add(
        _ rows: Rows, _ actual: [String: HostTensor], _ ofStored: [String: HostTensor],
        _ original: [String: HostTensor], _ names: [String], _ name: (String) -> String, _ result: inout Result
    ) {
        func output(_ name: String) -> String { CoreMLWeightMatcher.output(name, besides: rows.states) }
        let found = Dictionary(actual.map { (output($0.key), $0.value) }) { first, _ in first }
        let held = Dictionary((golden?.outputs.keys.sorted() ?? []).map { (CoreMLWeightMatcher.identifier($0), $0) }) {
            first, _ in first
        }
        let all = rows.known ? names : found.keys.sorted()
        for own in all {
            let (label, found) = (name(own), found[CoreMLWeightMatcher.identifier(own)])
            let role = programs.outputRoles[own] ?? rows.roles[own]
            if let expected = ofStored[own], rows.options.stages.contains(.graph) {
                compare(rows, .graph, .storedWeights, label, role, found, expected, .halves, &result)
            }
            guard rows.options.stages.contains(.outputs) else { continue }
            func limit(_ expected: HostTensor) -> Tolerance {
                if let limit = rows.options.budget?.tolerance(forOutput: label) { return limit }
                guard let values = ofStored[own] else { return limits.tolerance(.halves, loss: nil) }
                guard values.shape == expected.shape else { return .halves }
                return limits.tolerance(.halves, loss: rows.positions.metrics(of: values, against: expected))
            }
            if let expected = held[CoreMLWeightMatcher.identifier(label)].flatMap({ golden?.output($0, as: role) }) {
                compare(rows, .outputs, .golden, label, role, found, expected, limit(expected), &result)
            } else if let expected = original[own] {
                compare(
                    rows, .outputs, .originalWeights, label, role, found, expected, limit(expected), &result)
            } else {
                let reason = golden == nil ? "there is no model to compare with" : "the golden has no such output"
                skip(rows, .outputs, label, reason, isRequired: false, &result)
            }
        }
        guard rows.known else { return }
        let known = Set(names.map(CoreMLWeightMatcher.identifier))
        for own in actual.keys.sorted() where !known.contains(output(own)) {
            let stage: Stage = rows.options.stages.contains(.graph) ? .graph : .outputs
            skip(rows, stage, name(own), "the model has no such output", isRequired: true, &result)
        }
    }

    private func compare(
        _ rows: Rows, _ stage: Stage, _ reference: OutputFinding.Reference, _ label: String, _ role: Role?,
        _ found: HostTensor?, _ expected: HostTensor, _ tolerance: Tolerance, _ result: inout Result
    ) {
        guard let found else {
            return skip(rows, stage, label, "the package has no such output", isRequired: true, &result)
        }
        guard found.shape == expected.shape else {
            let reason = "the package gives \(found.shape), expected \(expected.shape)"
            return skip(rows, stage, label, reason, isRequired: true, &result)
        }
        result.outputs.append(
            OutputFinding(
                stage, function: rows.function, name: label, role, against: reference, found, expected, tolerance,
                at: rows.positions))
    }

    private func skip(
        _ rows: Rows, _ stage: Stage, _ label: String, _ reason: String, isRequired: Bool, _ result: inout Result
    ) {
        result.notCompared.append(
            NotCompared(stage: stage, name: "\(rows.function) \(label)", reason: reason, isRequired: isRequired))
    }

    private func renamed(_ inputs: [String: HostTensor], as names: [String]) -> [String: HostTensor] {
        let given = Dictionary(inputs.map { (CoreMLWeightMatcher.identifier($0.key), $0.value) }) { first, _ in first }
        return names.reduce(into: [:]) { $0[$1] = given[CoreMLWeightMatcher.identifier($1)] }
    }
}
