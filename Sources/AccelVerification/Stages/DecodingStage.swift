import Accel
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

        /// Adds the comparison of an output. Those of samples are joined as they come: as if they were one tensor.
        mutating func add(_ finding: OutputFinding, isSample: Bool) {
            let index = isSample ? outputs.firstIndex { $0.isSame(as: finding) } : nil
            if let index { outputs[index] = outputs[index].joining(finding) } else { outputs.append(finding) }
        }
    }
    private let sequences: [SampleDecoding.Sequence]
    private let program: ModelPlan
    private let model: ReferenceModel?
    /// Where the sequences are from; nil for samples.
    private let golden: Golden?
    /// The names of the weights that differ from the checkpoint's, and of those that are not its own in their scheme.
    private let weights: (lossy: Set<String>, wrong: Set<String>)
    private let options: Parity.Options
    private let stored: StoredWeights
    private let runner: PackageRunner
    /// The package with all activations in float32; nil if none are rounded.
    private let floats: (program: ModelPlan, runner: PackageRunner)?

    init(
        _ program: ModelPlan, model: ReferenceModel?, golden: Golden,
        _ weights: (lossy: Set<String>, wrong: Set<String>),
        options: Parity.Options
    ) throws {
        let decoding = try GoldenDecoding(program, golden: golden)
        self.init(
            program, model: model, golden,
            decoding.sequences.map { .init(blocks: $0, lengths: decoding.lengths) }, weights, options: options)
    }

    init(
        _ program: ModelPlan, model: ReferenceModel?, samples: SampleDecoding,
        _ weights: (lossy: Set<String>, wrong: Set<String>), options: Parity.Options
    ) {
        self.init(program, model: model, nil, samples.sequences, weights, options: options)
    }

    private init(
        _ program: ModelPlan, model: ReferenceModel?, _ golden: Golden?, _ sequences: [SampleDecoding.Sequence],
        _ weights: (lossy: Set<String>, wrong: Set<String>), options: Parity.Options
    ) {
        self.program = program
        self.model = model
        self.golden = golden
        self.sequences = sequences
        self.weights = weights
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
            var rows = try rows(of: sequence, &result)
            if rows.contains(where: \.finding.isBeyondArithmetic) {
                let noise = try noise(of: sequence)
                rows = rows.map { row in
                    row.finding.isBeyondArithmetic ? Row(row.key, row.finding.allowing(noise[row.key])) : row
                }
            }
            for row in rows {
                compared.insert(row.finding.name)
                result.add(row.finding, isSample: golden == nil)
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
            withOwnStates: model?.withOwnStates?[block.step.function], runner: runner, stored: stored,
            lossy: weights.lossy,
            wrong: weights.wrong,
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

    /// The comparison of one output or state of a block, with its key among the results of a sequence.
    private struct Row {
        let key: String
        let finding: OutputFinding

        init(_ key: String, _ finding: OutputFinding) { (self.key, self.finding) = (key, finding) }

        static func key(_ block: Int, _ name: String) -> String { "\(block) \(name)" }
    }

    /// The runs of the model beside the package's on one sequence.
    private final class Reference {
        private var states: [String: HostTensor] = [:]
        /// The outputs of all blocks so far, by name.
        private var made: [String: HostTensor] = [:]
        private let noise: RoundingNoise?

        init(_ noise: RoundingNoise? = nil) { self.noise = noise }

        /// Runs a block, from the states that the one before has left.
        /// - Returns: the outputs by name, and the content of the states.
        func run(
            _ block: GoldenDecoding.Block, of frozen: FrozenProgram,
            _ operand: (Program.Constant) throws -> ReferenceOperand
        ) throws -> (outputs: [String: HostTensor], states: [String: HostTensor]) {
            for state in block.step.states { states[state.name] = HostTensor.content(state) }
            let inputs = block.step.inputs(carrying: made) { HostTensor($0) }
            let outputs = try frozen.evaluate(
                inputs, states: &states, operand: operand, evaluate: RoundingNoise.evaluation(noise))
            let named = Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
            made.merge(named) { $1 }
            return (named, states)
        }

        /// Takes over the results of another side, which are this one's too.
        func adopt(_ results: (outputs: [String: HostTensor], states: [String: HostTensor])) {
            made.merge(results.outputs) { $1 }
            states = results.states
        }
    }

    /// The values of one output or state that are compared.
    private struct Values {
        /// The role of an output; nil for a state.
        var role: Role?
        var positions = CountedPositions.all
        /// The package's value; nil if it does not have the output.
        var actual: HostTensor?
        /// The package's value for the graph stage: with all activations in float32.
        var ofGraph: HostTensor?
        var original: HostTensor?
        var ofStored: HostTensor?
        /// The model's with the stored weights and all roundings of the package.
        var rounded: HostTensor?
    }

    /// Runs a sequence on all sides, and compares each block when all have run it.
    private func rows(of sequence: SampleDecoding.Sequence, _ result: inout Result) throws -> [Row] {
        let session = try Session(program, threads: options.threads)
        let graphSession = try floats.map { try Session($0.program, threads: options.threads) }
        let (originals, storeds, roundeds) = (Reference(), Reference(), Reference())
        var rows: [Row] = []
        var (made, graphMade): ([String: StoredTensor], [String: StoredTensor]) = ([:], [:])
        for (number, block) in sequence.blocks.enumerated() {
            let run = functionRun(block)
            let positions = sequence.positions(of: block, length: run.function.input(.tokens)?.shape.dimensions.last)
            let actual = try session.run(block.step, carrying: made)
            let ofGraph = try graphSession?.run(block.step, carrying: graphMade) ?? actual
            for tensor in actual { made[tensor.name] = tensor }
            for tensor in ofGraph { graphMade[tensor.name] = tensor }
            var original, ofStored, rounded: (outputs: [String: HostTensor], states: [String: HostTensor])?
            if let frozen = run.ofGraph.frozen {
                let first = try originals.run(block, of: run.original ?? frozen, FunctionRun.originalOperand)
                var second = first
                if run.lossyWeights.isEmpty, !run.roundsStates {
                    storeds.adopt(first)
                } else {
                    second = try storeds.run(block, of: frozen, run.storedOperand)
                }
                (original, ofStored, rounded) = (first, second, second)
                if run.unrounded != nil, let frozen = run.frozen {
                    rounded = try roundeds.run(block, of: frozen, run.storedOperand)
                }
            }
            // The model's outputs, whether the package has them or not.
            for name in run.frozen?.program.outputs.map(\.name) ?? run.function.outputs.map(\.name) {
                let values = Values(
                    role: run.interface.outputs[name], positions: positions,
                    actual: actual.first { $0.name == name }.map { HostTensor($0) },
                    ofGraph: ofGraph.first { $0.name == name }.map { HostTensor($0) },
                    original: original?.outputs[name], ofStored: ofStored?.outputs[name],
                    rounded: rounded?.outputs[name])
                rows += findings(block.name(name), values, run, &result).map { Row(Row.key(number, name), $0) }
            }
            guard let prefix = block.states else { continue }
            for name in changedStates(run) {
                let state = run.function.states.first { $0.name == name }
                let values = Values(
                    actual: state.flatMap(session.states.value).map { HostTensor.values($0) },
                    ofGraph: state.flatMap((graphSession ?? session).states.value).map { HostTensor.values($0) },
                    original: original?.states[name], ofStored: ofStored?.states[name]?.wideningRows(),
                    rounded: rounded?.states[name]?.wideningRows())
                rows += findings(prefix + name, values, run, &result).map { Row(Row.key(number, name), $0) }
            }
        }
        return rows
    }

    private func changedStates(_ run: FunctionRun) -> [String] {
        run.frozen?.program.states.filter { $0.next != $0.value }.map(\.name) ?? run.function.changedStates.map(\.name)
    }

    /// Measures the noise of float32 arithmetic in the results of a sequence, by the rows' keys.
    private func noise(of sequence: SampleDecoding.Sequence) throws -> [String: Metrics] {
        let shapes = sequence.blocks.flatMap { functionRun($0).results }.filter(\.elementType.isFloatingPoint).map(
            \.shape)
        var noises: [String: Metrics] = [:]
        for noise in RoundingNoise.runs(.float32, over: shapes, seed: options.inputs.samplingSeed) {
            let (plain, moved) = (Reference(), Reference(noise))
            for (number, block) in sequence.blocks.enumerated() {
                let run = functionRun(block)
                guard let frozen = run.ofGraph.frozen else { continue }
                let positions = sequence.positions(
                    of: block, length: run.function.input(.tokens)?.shape.dimensions.last)
                let exact = try plain.run(block, of: frozen, run.storedOperand)
                let noisy = try moved.run(block, of: frozen, run.storedOperand)
                for (name, tensor) in exact.outputs {
                    guard let other = noisy.outputs[name] else { continue }
                    noises.measure(
                        Row.key(number, name),
                        positions.metrics(of: other, against: tensor))
                }
                for name in changedStates(run) where block.states != nil {
                    guard let tensor = exact.states[name]?.wideningRows(),
                        let other = noisy.states[name]?.wideningRows()
                    else { continue }
                    noises.measure(Row.key(number, name), Metrics(other.floats, against: tensor.floats))
                }
            }
        }
        return noises
    }

    /// Compares one output or state.
    /// - Parameter name: under the golden's name.
    private func findings(
        _ name: String, _ values: Values, _ run: FunctionRun, _ result: inout Result
    ) -> [OutputFinding] {
        var findings: [OutputFinding] = []
        func skip(_ stage: Stage, _ reason: String, isRequired: Bool) {
            result.notCompared.append(
                .init(stage: stage, name: "\(run.function.name) \(name)", reason: reason, isRequired: isRequired))
        }
        func add(
            _ stage: Stage, _ reference: OutputFinding.Reference, _ found: HostTensor?, _ expected: HostTensor,
            _ limit: Tolerance
        ) {
            guard let found else { return skip(stage, "the package gives no such output", isRequired: true) }
            guard found.shape == expected.shape else {
                let reason = "the package gives \(found.shape), expected \(expected.shape)"
                return skip(stage, reason, isRequired: true)
            }
            findings.append(
                OutputFinding(
                    stage, function: run.function.name, name: name, values.role, against: reference, found, expected,
                    limit, at: values.positions))
        }
        /// The budget's limit, or the default one: a lossy output may lose what its reference does.
        func limit(_ expected: HostTensor, strict: Tolerance) -> Tolerance {
            if let limit = options.budget?.tolerance(forOutput: name) { return limit }
            return run.tolerance(values.rounded, against: expected, strict: strict, at: values.positions)
        }
        if options.stages.contains(.graph), let expected = values.ofStored {
            add(.graph, .storedWeights, values.ofGraph, expected, run.rounding)
        }
        guard options.stages.contains(.outputs) else { return findings }
        guard let golden, let expected = golden.output(name, as: values.role) else {
            guard let original = values.original else {
                skip(
                    .outputs, golden == nil ? "there is no model to compare with" : "the golden has no out.\(name)",
                    isRequired: false)
                return findings
            }
            add(.outputs, .originalWeights, values.actual, original, limit(original, strict: .rounding))
            return findings
        }
        let strict = golden.tolerance(for: name) ?? .unstatedNoise
        add(.outputs, .golden, values.actual, expected, limit(expected, strict: strict))
        if let original = values.original { add(.outputs, .modelAgainstGolden, original, expected, strict) }
        return findings
    }
}
