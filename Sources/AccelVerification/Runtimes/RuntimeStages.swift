import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors

/// The stages of an exported model that another project's runtime runs: its weights, and the runtime's outputs against the
/// reference implementation of the model, with the stored weights and with its own.
struct RuntimeStages: StageRunner {
    private(set) var report: ParityReport
    private let subject: RuntimeSubject
    private let original: OriginalModel
    private let options: Parity.Options
    /// nil before they are read, and for formats whose weights have no names of the model's.
    private var weights: RuntimeWeights?

    /// - Throws: `RequestError` without a model to compare with, or if the runtime does not read the format.
    init(of subject: RuntimeSubject, against reference: Subject?, _ options: Parity.Options) throws {
        (self.subject, self.options) = (subject, options)
        guard let original = reference?.original else {
            throw RequestError("a runtime's outputs need a model to be compared with: give --against MODEL")
        }
        self.original = original
        let (runtime, source) = (subject.runtime, subject.source)
        guard runtime.formats.contains(where: { $0.name == source.format.name }) else {
            let others = ModelRuntimes.all.filter { $0.formats.contains { $0.name == source.format.name } }
            let hint =
                others.first.map { ": use --runtime \($0.name)" }
                ?? ": export the model itself for it, by accelc export MODEL --format \(runtime.formats.first?.name ?? runtime.name)"
            throw RequestError("\(runtime.title) does not run \(source.format.title) (\(source.path))\(hint)")
        }
        let stored = try source.weights
        report = ParityReport(
            functions: original.programs.map(\.name), storedBytes: stored.reduce(0) { $0 + $1.storedBits } / 8,
            storedElements: stored.reduce(0) { $0 + $1.shape.count }, inputs: options.inputs, budget: options.budget)
        report.stages = options.stages.subtracting([.structure, .operators]).sorted()
    }

    mutating func checkContainer() throws {
        if try subject.source.check(progress: { _ in }) {
            report.containerFiles = subject.source.checkedFileCount ?? 1
        } else {
            report.stages.removeAll { $0 == .container }
        }
    }

    mutating func compareStructure() throws {}

    mutating func compareWeights(progress: (Double) -> Void) throws {
        guard !options.stages.isDisjoint(with: [.weights, .graph, .outputs]) else { return }
        weights = try RuntimeWeights(
            of: subject.source, against: original.programs, budget: options.budget, progress: progress)
        guard let weights else {
            let reason = "\(subject.source.format.title) has its own names and shapes of weights"
            for stage in [Stage.weights, .graph] where options.stages.contains(stage) {
                report.notCompared.append(.init(stage: stage, name: "all weights", reason: reason))
            }
            return
        }
        guard options.stages.contains(.weights) else { return }
        (report.weights, report.weightMetrics) = (weights.findings, weights.metrics)
        // If an output needs one of these, the runtime has no such output, or a wrong one.
        report.notCompared += weights.missing.map {
            .init(stage: .weights, name: $0, reason: "the export does not have it, or in another shape")
        }
    }

    mutating func runFunctions(_ progress: (Stage, Double) -> Void) throws {
        guard !options.stages.isDisjoint(with: [.graph, .outputs]) else { return }
        progress(.outputs, 0)
        let runs = try runs()
        let rounding = try subject.runtime.rounding(subject.source)
        // Weight-only first, where the runtime can be asked for it, so that the two losses are told apart.
        let modes = [subject.runtime.unrounded, rounding].compactMap(\.self)
        var references: References?
        for (index, mode) in modes.enumerated() where index == 0 || mode != modes[0] {
            guard let answer = try answer(runs, keepsActivations: modes.count > 1 && index == 0) else { continue }
            let named = "\(report.runtime.map { $0.activations + " and " } ?? "")\(mode.words)"
            report.runtime = RuntimeFinding(name: answer.runtime, activations: named)
            let known = try references ?? References(runs, weights?.stored, options.stages)
            references = known
            try compare(answer, runs, known, mode, suffix: index > 0 ? ", activations \(mode.words)" : "")
        }
        if case .file = options.inputs {
            report.countRuns(runs.count)
            report.joinSamples()
        }
    }

    /// The runs on the inputs that the runtime takes.
    private mutating func runs() throws -> [RuntimeRun] {
        switch subject.runtime.feed {
        case .wholeInputs:
            let feed = try WholeInputs(original.programs, on: options.inputs)
            report.notCompared += feed.notCompared
            return feed.runs
        case .functions:
            guard let package = (subject.source as? CoreAISource)?.package else { return [] }
            let functions = try package.functionShapes.map { function in
                guard let model = original.programs.frozen(named: function.shape) else {
                    throw RequestError(
                        "\(package.path): the model has no function \(function.shape) of the export", status: .exceeded)
                }
                return (function.name, model)
            }
            let feed = try FunctionRuns(functions, on: options.inputs)
            report.notCompared += feed.notCompared
            if !feed.drawn.isEmpty { report.draw(for: feed.drawn, seed: options.inputs.samplingSeed) }
            return feed.runs
        }
    }

    /// Runs the runtime.
    /// - Returns: nil if it fails, which the report states.
    private mutating func answer(_ runs: [RuntimeRun], keepsActivations: Bool) throws -> RuntimeRequest.Answer? {
        guard !runs.isEmpty else { return nil }
        let folder = try TemporaryFolder(beside: "\(ProcessEnvironment.temporaryFolder)/accelc-runtime", mode: 0o700)
        let request = RuntimeRequest(
            runtime: subject.runtime, model: Files.absolutePath(of: subject.source.path), runs: runs,
            threads: options.threads,
            keepsActivations: keepsActivations)
        try request.write(to: folder.path)
        var failure = try subject.driver.run(subject.runtime, in: folder.path, runs: runs.count)
        if failure == nil {
            do {
                return try request.answer(in: folder.path)
            } catch let error as any ReportedError {
                failure = "its answer is not complete: \(error.description.replacing(folder.path, with: "the answer"))"
            }
        }
        report.notCompared.append(
            .init(
                stage: .outputs, name: "all outputs", reason: "\(subject.runtime.title) failed: \(failure ?? "")",
                isRequired: true))
        return nil
    }

    /// The reference's results, each made when it is needed.
    private struct References {
        var stored: RuntimeReference?
        var original: RuntimeReference?

        init(_ runs: [RuntimeRun], _ stored: [String: StoredTensor]?, _ stages: Set<Stage>) throws {
            if let stored {
                self.stored = try RuntimeReference(runs) { constant in
                    try HostTensor(stored[constant.name] ?? constant.requireTensor())
                }
            }
            let isAnswered = runs.allSatisfy { run in run.results.allSatisfy { run.expected[$0.name] != nil } }
            if stages.contains(.outputs), !isAnswered {
                original = try RuntimeReference(runs) { try HostTensor($0.requireTensor()) }
            }
        }
    }

    private mutating func compare(
        _ answer: RuntimeRequest.Answer, _ runs: [RuntimeRun], _ references: References, _ rounding: RuntimeRounding,
        suffix: String
    ) throws {
        let graph = rounding.graphTolerance(of: subject.runtime)
        let weakest = weights.map(\.weakest) ?? (try? SchemeTolerance.weakest(of: subject.source.weights)) ?? nil
        let areWeightsRight =
            weights?.findings.allSatisfy { row in
                row.failure == nil || options.budget?.tolerance(forWeight: row.name) != nil
            } ?? true
        let first = report.outputs.count
        /// The run and the name of the result of each row.
        var keys: [(run: Int, name: String)] = []
        for (number, run) in runs.enumerated() {
            let function = run.model.functionName + suffix
            let positions = CountedPositions(run.inputs, of: run.model.program.interface)
            for result in run.results {
                let name = RuntimeRequest.Answer.name(number, result.name, isState: result.isState)
                let found = answer.outputs[name].map { HostTensor($0) }
                if found == nil {
                    let reason = answer.missing[name]
                    report.notCompared.append(
                        .init(
                            stage: .outputs, name: "\(function) \(result.title)",
                            reason: reason ?? "\(subject.runtime.title) gave no such output", isRequired: reason == nil)
                    )
                    continue
                }
                func add(
                    _ stage: Stage, _ reference: OutputFinding.Reference, _ expected: HostTensor?, _ limit: Tolerance
                ) {
                    guard let found, let expected, options.stages.contains(stage) else { return }
                    guard found.shape == expected.shape else {
                        report.notCompared.append(
                            .init(
                                stage: stage, name: "\(function) \(result.title)",
                                reason: "\(subject.runtime.title) gives \(found.shape), expected \(expected.shape)",
                                isRequired: true))
                        return
                    }
                    report.outputs.append(
                        OutputFinding(
                            stage, function: function, name: result.title, run.role(result.name), against: reference,
                            found, expected, limit, at: positions))
                    keys.append((number, result.name))
                }
                let stored = references.stored?.results[number][result.name]
                func limit(_ expected: HostTensor?) -> Tolerance {
                    let loss: Metrics? =
                        if let stored, let expected, areWeightsRight, stored.shape == expected.shape {
                            positions.metrics(of: stored, against: expected)
                        } else {
                            nil
                        }
                    return options.budget?.tolerance(forOutput: result.title)
                        ?? rounding.outputTolerance(of: subject.runtime, loss: loss, weights: weakest)
                }
                add(.graph, .storedWeights, stored, graph)
                if let golden = run.expected[result.name] {
                    add(.outputs, .golden, golden, limit(golden))
                } else {
                    let original = references.original?.results[number][result.name]
                    add(.outputs, .originalWeights, original, limit(original))
                }
            }
        }
        try allowNoise(from: first, keys, runs, references.stored, rounding)
        listUnread(by: runs)
    }

    /// Widens the limits that are exceeded by the noise that the runs have.
    private mutating func allowNoise(
        from first: Int, _ keys: [(run: Int, name: String)], _ runs: [RuntimeRun], _ stored: RuntimeReference?,
        _ rounding: RuntimeRounding
    ) throws {
        guard let stored, let arithmetic = rounding.arithmetic,
            report.outputs[first...].contains(where: \.isBeyondArithmetic)
        else { return }
        let noise = RoundingNoise(arithmetic: arithmetic, seed: options.inputs.samplingSeed)
        let moved = try RuntimeReference(runs, noise: noise) { [weights] constant in
            try HostTensor(weights?.stored[constant.name] ?? constant.requireTensor())
        }
        for (index, key) in zip(first..., keys) where report.outputs[index].isBeyondArithmetic {
            guard let plain = stored.results[key.run][key.name], let other = moved.results[key.run][key.name] else {
                continue
            }
            let positions = CountedPositions(runs[key.run].inputs, of: runs[key.run].model.program.interface)
            report.outputs[index] = report.outputs[index].allowing(
                positions.metrics(of: other, against: plain))
        }
    }

    /// Lists the outputs of a golden that the export does not have.
    private mutating func listUnread(by runs: [RuntimeRun]) {
        guard let golden = options.inputs.golden, !golden.isDecoding else { return }
        let known = Set(runs.flatMap { $0.results.map(\.name) })
        for name in golden.outputs.keys.sorted() where !known.contains(name) {
            let gap = NotCompared(stage: .outputs, name: "out.\(name)", reason: "the export has no such output")
            if !report.notCompared.contains(gap) { report.notCompared.append(gap) }
        }
    }
}
