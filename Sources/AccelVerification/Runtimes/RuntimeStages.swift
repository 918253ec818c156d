import Accel
import AccelByteIO
import AccelCPURuntime
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
            throw RequestError("a runtime's outputs need a model to be compared with")
        }
        self.original = original
        let (runtime, source) = (subject.runtime, subject.source)
        guard runtime.formats.contains(where: { $0.name == source.format.name }) else {
            let others = ModelRuntimes.all.filter { $0.formats.contains { $0.name == source.format.name } }
            throw RequestError(
                Diagnostic(
                    "\(runtime.title) does not run \(source.format.title) (\(source.path))", code: .formatOfRuntime,
                    expected: runtime.formats.first?.name, candidates: others.map(\.name)))
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
                report.skip(stage, "all weights", reason)
            }
            return
        }
        guard options.stages.contains(.weights) else { return }
        (report.weights, report.weightMetrics) = (weights.findings, weights.metrics)
        // If an output needs one of these, the runtime has no such output, or a wrong one.
        for name in weights.missing { report.skip(.weights, name, "the export does not have it, or in another shape") }
    }

    mutating func runFunctions(_ progress: (Stage, Double) -> Void) throws {
        guard !options.stages.isDisjoint(with: [.graph, .outputs]) else { return }
        progress(.outputs, 0)
        let runs = try runs()
        let rounding = try subject.runtime.rounding(subject.source)
        // Weight-only first, if the runtime supports it, so that the report has each loss by itself.
        let modes = [subject.runtime.unrounded, rounding].compactMap(\.self)
        // What has the suffix of the second mode is compared with the same results of the model.
        let kept = SequenceComparison.Kept()
        for (index, mode) in modes.enumerated() where index == 0 || mode != modes[0] {
            guard let answer = try answer(runs, keepsActivations: modes.count > 1 && index == 0) else { continue }
            let named = "\(report.runtime.map { $0.activations + " and " } ?? "")\(mode.words)"
            report.runtime = RuntimeFinding(name: answer.runtime, activations: named)
            let suffix = index > 0 ? ", activations \(mode.words)" : ""
            try compare(answer, runs, mode, suffix: suffix, modes.count > 1 ? kept : nil)
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
            return try runs(of: functions)
        }
    }

    /// The runs of functions that are called by name, with their fixed shapes.
    /// - Parameter functions: the names of the export's functions, and the model's function with the same shapes.
    /// - Throws: `RequestError` if the inputs of a file fit no function.
    private mutating func runs(of functions: [(name: String, model: FrozenProgram)]) throws -> [RuntimeRun] {
        let models = functions.map(\.model)
        let feeds = try FeedPlan(ModelPlan(outlining: models), on: options.inputs)
        let golden = options.inputs.golden
        var runs: [RuntimeRun] = []
        func add(
            _ index: Int, _ call: FeedCall, in sequence: Int? = nil, _ golden: (String, String, Role?) -> HostTensor?
        ) {
            var run = RuntimeRun(
                function: functions[index].name, model: models[index], sequence: sequence ?? runs.count, call)
            for name in run.results {
                let title = run.states.contains(name) ? call.stateName?(name) ?? name : call.outputName(name)
                run.expected[name] = golden(name, title, run.role(name))
            }
            runs.append(run)
        }
        for sequence in feeds.sequences {
            let number = runs.count
            for block in sequence.blocks {
                add(block.step.function, FeedCall(block), in: number) { golden?.output($1, as: $2) }
            }
        }
        // On zeros, which are no encoder's, a decoder would show nothing: it runs on random inputs.
        let single = feeds.single.filter {
            $0.golden != nil || feeds.program.functions[$0.function].encoderStates(missingIn: $0.feed).isEmpty
        }
        for run in single {
            add(run.function, FeedCall(try run.feed.completed(), run.golden?.suffix)) { run.golden?.output($0, as: $2) }
        }
        let inputs = DrawnInputs(models, seed: options.inputs.samplingSeed)
        var drawn: [String] = []
        let done = feeds.decoded.union(single.map(\.function))
        for (index, model) in models.enumerated() where !done.contains(index) {
            try model.requireMemoryForInputs()
            guard var feed = try inputs.feed(for: index) else { continue }
            for state in model.states { feed.states[state.name] = try feed.state(state.name) }
            add(index, FeedCall(feed)) { _, _, _ in nil }
            if options.inputs.seed == nil { drawn.append(model.functionName) }
        }
        if !drawn.isEmpty { report.draw(for: drawn, seed: options.inputs.samplingSeed) }
        return runs
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
        report.skip(
            .outputs, "all outputs", "\(subject.runtime.title) failed: \(failure ?? "")", isRequired: true)
        return nil
    }

    private mutating func compare(
        _ answer: RuntimeRequest.Answer, _ runs: [RuntimeRun], _ rounding: RuntimeRounding, suffix: String,
        _ kept: SequenceComparison.Kept?
    ) throws {
        let comparison = SequenceComparison(options: options, title: subject.runtime.title, kept: kept)
        let functions = runs.map(compared(by: rounding, suffix: suffix, isAnswered: runs.allSatisfy(\.isAnswered)))
        for sequence in Set(runs.map(\.sequence)).sorted() {
            let numbers = runs.indices.filter { runs[$0].sequence == sequence }
            guard let first = numbers.first, let last = numbers.last else { continue }
            let findings = try comparison.compare(
                RuntimeExecutable(
                    calls: first..<last + 1, runs: runs, functions: functions, answer: answer,
                    title: subject.runtime.title, arithmetic: rounding.arithmetic))
            report.outputs += findings.outputs
            report.notCompared += findings.notCompared
        }
        listUnread(by: runs)
    }

    /// Returns the function that makes of a run what it is compared with.
    /// - Parameter isAnswered: a golden has all results.
    private func compared(
        by rounding: RuntimeRounding, suffix: String, isAnswered: Bool
    ) -> (RuntimeRun) -> ComparedFunction {
        let weakest = weights.map(\.weakest) ?? (try? SchemeTolerance.weakest(of: subject.source.weights)) ?? nil
        let areWeightsRight =
            weights?.findings.allSatisfy { row in
                row.failure == nil || options.budget?.tolerance(forWeight: row.name) != nil
            } ?? true
        return { run in
            ComparedFunction(
                name: run.model.functionName + suffix, outputs: run.model.program.outputs.map(\.name),
                states: run.states, role: run.role,
                original: options.stages.contains(.outputs) && !isAnswered ? ModelSide(run.model) : nil,
                stored: weights.map { ModelSide(run.model, stored: $0.stored) },
                graphLimit: rounding.graphTolerance(of: subject.runtime),
                limit: { stored, expected, _, positions in
                    let isLoss = areWeightsRight && stored?.shape == expected.shape
                    let loss = isLoss ? stored.map { positions.metrics(of: $0, against: expected) } : nil
                    return rounding.outputTolerance(of: subject.runtime, loss: loss, weights: weakest)
                })
        }
    }

    /// Lists the outputs of a golden that the export does not have.
    private mutating func listUnread(by runs: [RuntimeRun]) {
        guard let golden = options.inputs.golden, !golden.isDecoding else { return }
        let known = Set(runs.flatMap(\.results))
        for name in golden.outputs.keys.sorted() where !known.contains(name) {
            let gap = NotCompared(stage: .outputs, name: "out.\(name)", reason: "the export has no such output")
            if !report.notCompared.contains(gap) { report.notCompared.append(gap) }
        }
    }
}
