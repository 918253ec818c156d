import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// S2 to S4 of a decoder on sequences of blocks, those of a golden or of samples: by the package, and by the reference implementation with
/// the stored and with the original weights. What functions make for others is handed on in each of them, as `run` does it.
struct DecodingStage {
    struct Result {
        var operators: [OperatorFinding] = []
        var outputs: [OutputFinding] = []
        var notCompared: [NotCompared] = []
        /// The golden's outputs that no block gives.
        var missing: [String] = []
        /// The functions of the blocks.
        var functions: Set<Int> = []
        /// The functions whose operators were not compared, because their inputs are outputs of another function.
        var fed: Set<Int> = []
        /// The number of runs of the package.
        var runs = 0
    }
    private let sequences: [SampleDecoding.Sequence]
    private let program: ModelPlan
    private let model: ReferenceModel?
    /// Where the sequences are from; nil for samples.
    private let golden: Golden?
    private let lossy: Set<String>
    private let options: Parity.Options
    private let stored: StoredWeights
    private let runner: PackageRunner
    /// The package with all activations in float32; nil if none are rounded.
    private let floats: (program: ModelPlan, runner: PackageRunner)?

    init(
        _ program: ModelPlan, model: ReferenceModel?, golden: Golden, lossy: Set<String>, options: Parity.Options
    ) throws {
        let sequences = try GoldenDecoding(program, golden: golden).sequences
        self.init(
            program, model: model, golden, sequences.map { .init(blocks: $0, lengths: nil) }, lossy: lossy,
            options: options)
    }

    init(
        _ program: ModelPlan, model: ReferenceModel?, samples: SampleDecoding, lossy: Set<String>,
        options: Parity.Options
    ) {
        self.init(program, model: model, nil, samples.sequences, lossy: lossy, options: options)
    }

    private init(
        _ program: ModelPlan, model: ReferenceModel?, _ golden: Golden?, _ sequences: [SampleDecoding.Sequence],
        lossy: Set<String>, options: Parity.Options
    ) {
        self.program = program
        self.model = model
        self.golden = golden
        self.sequences = sequences
        self.lossy = lossy
        self.options = options
        stored = StoredWeights(program.weights)
        runner = PackageRunner(program, threads: options.threads)
        floats = program.withFloatActivations.map { ($0, PackageRunner($0, threads: options.threads)) }
    }

    func run() throws -> Result {
        var result = Result()
        result.functions = Set(sequences.flatMap(\.blocks).map(\.step.function))
        result.runs = sequences.reduce(0) { $0 + $1.blocks.count }
        // Those of samples are compared on their first blocks, with states that an encoder has made.
        if golden != nil, options.stages.contains(.operators) { try compareOperators(&result) }
        guard !options.stages.isDisjoint(with: [.graph, .outputs]) else { return result }
        var compared: Set<String> = []
        for sequence in sequences {
            for row in try values(of: sequence) {
                compare(row, &result)
                compared.insert(row.name)
            }
        }
        result.missing = (golden?.outputs.keys.sorted() ?? []).filter { !compared.contains($0) }
        return result
    }

    private func functionRun(_ block: GoldenDecoding.Block) -> FunctionRun {
        FunctionRun(
            index: block.step.function, function: program.functions[block.step.function],
            feed: FunctionFeed(
                inputs: block.step.inputs.mapValues { HostTensor($0) },
                states: block.step.states.reduce(into: [:]) { $0[$1.name] = HostTensor.content($1) }),
            golden: golden, frozen: model?.functions[block.step.function],
            withOwnStates: model?.withOwnStates?[block.step.function], runner: runner, stored: stored, lossy: lossy,
            unrounded: floats.map {
                .init(program: $0.program, frozen: model?.unrounded[block.step.function], runner: $0.runner)
            })
    }

    /// Compares the operators of each function once, on its first block.
    private func compareOperators(_ result: inout Result) throws {
        var seen: Set<Int> = []
        for block in sequences.flatMap(\.blocks) where seen.insert(block.step.function).inserted {
            let run = functionRun(block)
            guard run.frozen != nil else {
                result.notCompared.append(
                    .init(stage: .operators, name: run.function.name, reason: "there is no model to compare with"))
                continue
            }
            guard block.step.carried.isEmpty else {
                result.fed.insert(block.step.function)
                continue
            }
            result.operators += try RunComparison(
                run: run, stages: [.operators], budget: options.budget, seed: options.inputs.samplingSeed
            ).result().operators
        }
    }

    /// One output or state, under the golden's name.
    private struct Row {
        let name: String
        /// The role of an output; nil for a state.
        let role: Role?
        let run: FunctionRun
        let positions: CountedPositions
        /// The package's value; nil if it does not have the output.
        let actual: HostTensor?
        /// The package's value for the graph stage: with all activations in float32.
        let ofGraph: HostTensor?
        var original: HostTensor?
        var ofStored: HostTensor?
    }

    private func values(of sequence: SampleDecoding.Sequence) throws -> [Row] {
        let session = try Session(program, threads: options.threads)
        let graphSession = try floats.map { try Session($0.program, threads: options.threads) }
        var (originalStates, storedStates): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
        var rows: [Row] = []
        /// The outputs of all blocks so far, by name: of the package, of the original model, and of the model with the
        /// stored weights.
        var made: [String: StoredTensor] = [:]
        var graphMade: [String: StoredTensor] = [:]
        var (originalMade, storedMade): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
        for block in sequence.blocks {
            let run = functionRun(block)
            let positions = sequence.positions(of: block, length: run.function.input(.tokens)?.shape.dimensions.last)
            func inputs(_ made: [String: HostTensor]) -> [String: HostTensor] {
                block.step.inputs(carrying: made) { HostTensor($0) }
            }
            for state in block.step.states {
                originalStates[state.name] = HostTensor.content(state)
                storedStates[state.name] = originalStates[state.name]
            }
            let actual = try session.run(block.step, carrying: made)
            let ofGraph = try graphSession?.run(block.step, carrying: graphMade) ?? actual
            var (original, ofStored): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
            if let frozen = run.ofGraph.frozen {
                original = byName(
                    try (run.original ?? frozen).evaluate(inputs(originalMade), states: &originalStates))
                if run.lossyWeights.isEmpty, !run.roundsStates {
                    (ofStored, storedStates) = (original, originalStates)
                } else {
                    ofStored = byName(
                        try frozen.evaluate(inputs(storedMade), states: &storedStates, constant: run.storedValue))
                }
            }
            for tensor in actual { made[tensor.name] = tensor }
            for tensor in ofGraph { graphMade[tensor.name] = tensor }
            originalMade.merge(original) { $1 }
            storedMade.merge(ofStored) { $1 }
            // The model's outputs, whether the package has them or not.
            let names = run.frozen?.program.outputs.map(\.name) ?? run.function.outputs.map(\.name)
            rows += names.map { name in
                Row(
                    name: block.name(name), role: run.interface.outputs[name], run: run, positions: positions,
                    actual: actual.first { $0.name == name }.map { HostTensor($0) },
                    ofGraph: ofGraph.first { $0.name == name }.map { HostTensor($0) },
                    original: original[name], ofStored: ofStored[name])
            }
            guard let prefix = block.states else { continue }
            let changed =
                run.frozen?.program.states.filter { $0.next != $0.value }.map(\.name)
                ?? run.function.changedStates.map(\.name)
            rows += changed.map { name in
                let state = run.function.states.first { $0.name == name }
                return Row(
                    name: prefix + name, role: nil, run: run, positions: .all,
                    actual: state.flatMap(session.states.value).map { HostTensor.values($0) },
                    ofGraph: state.flatMap((graphSession ?? session).states.value).map { HostTensor.values($0) },
                    original: originalStates[name], ofStored: storedStates[name]?.wideningRows())
            }
        }
        return rows
    }

    private func byName(_ outputs: [(name: String, tensor: HostTensor)]) -> [String: HostTensor] {
        Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
    }

    private func compare(_ row: Row, _ result: inout Result) {
        let function = row.run.function.name
        func skip(_ stage: Stage, _ reason: String, isRequired: Bool) {
            result.notCompared.append(
                .init(stage: stage, name: "\(function) \(row.name)", reason: reason, isRequired: isRequired))
        }
        func add(
            _ stage: Stage, _ reference: OutputFinding.Reference, _ values: HostTensor?, _ expected: HostTensor,
            _ limit: Tolerance
        ) {
            guard let values else { return skip(stage, "the package gives no such output", isRequired: true) }
            guard values.shape == expected.shape else {
                let reason = "the package gives \(values.shape), expected \(expected.shape)"
                return skip(stage, reason, isRequired: true)
            }
            result.outputs.append(
                OutputFinding(
                    stage, function: function, name: row.name, row.role, against: reference, values, expected, limit,
                    at: row.positions))
        }
        if let expected = row.ofStored { add(.graph, .storedWeights, row.ofGraph, expected, row.run.rounding) }
        guard let golden, let expected = golden.output(row.name, as: row.role) else {
            guard let original = row.original else {
                return skip(
                    .outputs, golden == nil ? "there is no model to compare with" : "the golden has no out.\(row.name)",
                    isRequired: false)
            }
            let limit = options.budget?.tolerance(forOutput: row.name) ?? row.run.schemeTolerance ?? .rounding
            return add(.outputs, .originalWeights, row.actual, original, limit)
        }
        let strict = golden.tolerance(for: row.name) ?? .unstatedNoise
        let limit = row.run.schemeTolerance ?? strict
        add(.outputs, .golden, row.actual, expected, options.budget?.tolerance(forOutput: row.name) ?? limit)
        if let original = row.original { add(.outputs, .modelAgainstGolden, original, expected, strict) }
    }
}
