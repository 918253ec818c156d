import ByteIO
import Packages
import Programs
public import Tensors
import WeightCompression

/// Compares a package with the model that it was made from.
///
///     let report = try Parity(of: .package(package), against: .reference(programs)).check()
///     print(report.terminal(width: 100, colour: false))
public struct Parity: Sendable {
    public struct Options: Sendable {
        /// The stages to run.
        public var stages: Set<Stage>
        public var inputs: InputSource
        public var budget: Budget?
        public var threads: Int
        /// Bytes that intermediate results of the reference may take while operators are compared; those beyond are
        /// listed as not compared.
        public var intermediateBytes: Int

        public init(
            stages: Set<Stage> = Set(Stage.allCases), inputs: InputSource = .seeded(InputSource.defaultSeed),
            budget: Budget? = nil, threads: Int = Parallel.processorCount, intermediateBytes: Int = 2 << 30
        ) {
            self.stages = stages
            self.inputs = inputs
            self.budget = budget
            self.threads = threads
            self.intermediateBytes = intermediateBytes
        }
    }

    let subject: Subject
    let reference: Subject?

    /// - Parameter reference: `.reference`; nil when there is only a golden file to compare with.
    public init(of subject: Subject, against reference: Subject?) {
        self.subject = subject
        self.reference = reference
    }

    /// Runs the stages.
    /// - Parameter progress: gets the stage and the share of it that is done.
    /// - Throws: `FormatError` when the container is corrupt (exit status 4); `RequestError` when no function takes the
    ///   inputs (3). A figure beyond its limit does not throw: see `ParityReport.exitStatus`.
    public func check(
        _ options: Options = Options(), progress: (Stage, Double) -> Void = { _, _ in }
    ) throws -> ParityReport {
        if case .coreML(let package) = subject {
            var programs: [Program]?
            if case .reference(let all)? = reference { programs = all }
            return try CoreMLParity(package: package, programs: programs).check(options, progress: progress)
        }
        guard let program = subject.program else {
            throw RequestError("what is verified has to be a package, not a model")
        }
        var report = ParityReport(of: program, inputs: options.inputs, budget: options.budget)
        report.stages = options.stages.sorted()
        if case .package(let package) = subject {
            report.packageDigest = package.digest
            if options.stages.contains(.container) {
                progress(.container, 0)
                try package.check()
                report.containerFiles = package.manifest.files.count + 1
            }
            report.coverage = try package.coverage.map(CoverageFinding.init)
            report.unused = try package.unusedTensors
        }
        var model: ReferenceModel?
        if case .reference(let programs)? = reference {
            model = try ReferenceModel(programs, for: program, in: subject.package)
        }
        let lossy = try checkWeights(program, model, options, &report, progress)
        try checkFunctions(program, model, lossy, options, &report, progress)
        report.checkSize(budget: options.budget)
        return report
    }

    /// S1.
    /// - Returns: names of the weights that are not what the checkpoint holds.
    private func checkWeights(
        _ program: CompiledProgram, _ model: ReferenceModel?, _ options: Options, _ report: inout ParityReport,
        _ progress: (Stage, Double) -> Void
    ) throws -> Set<String> {
        guard let model else {
            if options.stages.contains(.weights) {
                report.notCompared.append(
                    .init(stage: .weights, name: "all weights", reason: "there is no model to compare with"))
            }
            // Without the checkpoint, a weight counts as lossy when its stored form may lose something.
            return Set(
                program.weights.filter { SchemeTolerance.line(for: $0).output < SchemeTolerance.rounding }.map(\.name))
        }
        var stage = WeightStage(program: program, model: model, budget: options.budget, threads: options.threads)
        if case .package(let package) = subject {
            stage.recorded = Dictionary(try package.coverage.map { ($0.tensor.name, $0.distortion) }) { first, _ in
                first
            }
        }
        let result = try stage.run { progress(.weights, $0) }
        if options.stages.contains(.weights) {
            report.weights = result.weights
            report.weightMetrics = result.metrics
            report.misfits = result.misfits
        }
        return Set(result.weights.filter { !$0.metrics.isExact }.map(\.name))
    }

    /// S2 to S4.
    private func checkFunctions(
        _ program: CompiledProgram, _ model: ReferenceModel?, _ lossy: Set<String>, _ options: Options,
        _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        guard !options.stages.isDisjoint(with: [.operators, .graph, .outputs]) else { return }
        let runner = PackageRunner(program, threads: options.threads)
        let stored = StoredWeights(program.weights)
        if let golden = options.inputs.golden, golden.isDecoding,
            program.functions.contains(where: { !$0.states.isEmpty })
        {
            let stage = DecodingStage(program, model: model, golden: golden, lossy: lossy, options: options)
            return try report.add(stage.run(), asked: options.stages)
        }
        let selected = try selectFunctions(of: program, model, options.inputs)
        for index in program.functions.indices where !selected.contains(where: { $0.function == index }) {
            report.notCompared.append(
                .init(
                    stage: .outputs, name: program.functions[index].name,
                    reason: model == nil || model?.functions[index] != nil
                        ? "the inputs are not of its shapes"
                        : "the model has no part \"\(program.functions[index].part)\""))
        }
        for (number, choice) in selected.enumerated() {
            let run = FunctionRun(
                index: choice.function, function: program.functions[choice.function], feed: choice.feed,
                golden: choice.golden,
                frozen: model?.functions[choice.function], runner: runner, stored: stored, lossy: lossy)
            // Operators do the same for each sample.
            var options = options
            if number > 0, choice.golden != nil, choice.function == selected[number - 1].function {
                options.stages.remove(.operators)
            }
            try check(run, options, &report) { stage, done in
                progress(stage, (Double(number) + done) / Double(selected.count))
            }
        }
    }

    private func selectFunctions(
        of program: CompiledProgram, _ model: ReferenceModel?, _ source: InputSource
    ) throws -> [(function: Int, feed: FunctionFeed, golden: Golden?)] {
        switch source {
        case .golden(let golden):
            return try golden.samples.flatMap { sample in
                try InputMatcher(golden: sample).functions(of: program).map { ($0.function, $0.feed, sample) }
            }
        case .file(let path):
            return try InputMatcher(file: path).functions(of: program).map { ($0.function, $0.feed, nil) }
        case .seeded(let seed):
            guard let model else {
                throw RequestError(
                    "there is nothing to compare with: give --against MODEL or --golden FILE", status: .unavailable)
            }
            return model.functions.enumerated().compactMap { index, frozen in
                frozen.map { (index, SeededInputs(seed: seed).feed(for: $0), nil) }
            }
        }
    }

    private func check(
        _ run: FunctionRun, _ options: Options, _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        let stages = options.stages
        var original = ReferenceValues()
        if let frozen = run.frozen {
            progress(.operators, 0)
            original = try run.originalValues(
                of: frozen, keepingUpTo: stages.contains(.operators) ? options.intermediateBytes : 0)
        }
        if stages.contains(.operators), run.frozen != nil {
            let findings = try OperatorStage(run: run, budget: options.budget).findings(against: original)
            report.operators += findings
        } else if stages.contains(.operators) {
            report.notCompared.append(
                .init(stage: .operators, name: run.function.name, reason: "there is no model to compare with"))
        }
        original.byLabel = [:]
        guard !stages.isDisjoint(with: [.graph, .outputs]) else { return }
        progress(.graph, 0)
        let actual = try run.runner.run(run.index, run.feed)
        let stage = OutputStage(run: run, budget: options.budget, actual: actual)
        if stages.contains(.graph) {
            if let frozen = run.frozen {
                let expected = run.lossyWeights.isEmpty ? original.outputs : try run.storedOutputs(of: frozen)
                report.add(stage.graph(storedOutputs: expected))
            } else {
                report.notCompared.append(
                    .init(stage: .graph, name: run.function.name, reason: "there is no model to compare with"))
            }
        }
        if stages.contains(.outputs) {
            progress(.outputs, 0)
            if let golden = run.golden {
                report.add(stage.outputs(golden: golden, originalOutputs: original.outputs))
                report.addUnread(golden, of: run.function)
            } else {
                report.add(stage.outputs(originalOutputs: original.outputs))
            }
        }
    }
}
