import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

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
        /// Bytes that intermediate results of the reference may take while operators are compared. Where all together
        /// take more, the model runs several times.
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
        var report = try report(options, progress: progress)
        if let budget = options.budget { report.allow(by: budget) }
        report.checkUse(of: options.budget, asked: options.stages)
        return report
    }

    private func report(_ options: Options, progress: (Stage, Double) -> Void) throws -> ParityReport {
        if case .coreML(let package) = subject {
            return try CoreMLParity(package: package, programs: reference?.programs, original: reference?.original)
                .check(options, progress: progress)
        }
        guard let program = try subject.program() else {
            throw RequestError("what is verified has to be a package, not a model")
        }
        var report = ParityReport(of: program, inputs: options.inputs, budget: options.budget)
        report.stages = options.stages.sorted()
        if case .package(let package) = subject {
            report.packageDigest = package.digest
            if options.stages.contains(.container) {
                progress(.container, 0)
                try package.check(includesReport: false)
                report.containerFiles = package.manifest.files.count + 1
            }
            report.coverage = try package.coverage.map(CoverageFinding.init)
            report.unused = try package.unusedTensors
        }
        if !options.stages.isDisjoint(with: [.operators, .graph, .outputs]) {
            try PackageRunner.requireMemory(for: program)
        }
        var model: ReferenceModel?
        if let reference, let programs = reference.programs {
            if options.stages.contains(.structure) {
                progress(.structure, 0)
                report.structure = try StructureStage(
                    of: try subject.package?.contents ?? PackageContents(inMemory: ModelGraph(of: program)),
                    programs: programs,
                    original: subject.package == nil ? nil : reference.original, package: subject.package
                ).run()
            }
            model = try ReferenceModel(programs, for: program, in: subject.package)
        } else if options.stages.contains(.structure) {
            report.notCompared.append(
                .init(stage: .structure, name: "the whole package", reason: "there is no model to compare with"))
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
            stage.otherCodecs = package.manifest.provenance.otherCodecs
        }
        let result = try stage.run { progress(.weights, $0) }
        if options.stages.contains(.weights) {
            report.weights = result.weights
            report.weightMetrics = result.metrics
            report.misfits = result.misfits
        }
        return Set(result.weights.filter { !$0.metrics.isExact }.map(\.name))
    }

    /// A run of a function, for some of the stages.
    private struct Choice {
        let function: Int
        let feed: FunctionFeed
        var golden: Golden?
        var stages: Set<Stage>
    }

    /// S2 to S4.
    private func checkFunctions(
        _ program: CompiledProgram, _ model: ReferenceModel?, _ lossy: Set<String>, _ options: Options,
        _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        guard !options.stages.isDisjoint(with: [.operators, .graph, .outputs]) else { return }
        let runner = PackageRunner(program, threads: options.threads)
        let stored = StoredWeights(program.weights)
        for (index, reason) in (model?.reasons ?? []).enumerated() {
            guard let reason else { continue }
            report.notCompared.append(
                .init(stage: .outputs, name: program.functions[index].name, reason: reason, isRequired: true))
        }
        for (number, choice) in try choices(program, model, lossy, options, &report).enumerated() {
            let run = FunctionRun(
                index: choice.function, function: program.functions[choice.function], feed: choice.feed,
                golden: choice.golden,
                frozen: model?.functions[choice.function], runner: runner, stored: stored, lossy: lossy)
            var own = options
            own.stages.formIntersection(choice.stages)
            do {
                try check(run, own, &report) { stage, done in progress(stage, (Double(number) + done)) }
            } catch let error as any ReportedError where report.structure?.differences.isEmpty == false {
                // The package is known to be another one; what it fails at goes into the report too.
                report.notCompared.append(
                    .init(
                        stage: own.stages.max() ?? .outputs, name: run.function.name, reason: error.description,
                        isRequired: true))
            }
        }
    }

    /// What is run: what the inputs are for, and with a model every other function on drawn inputs, so that none of the
    /// model's is left out.
    private func choices(
        _ program: CompiledProgram, _ model: ReferenceModel?, _ lossy: Set<String>, _ options: Options,
        _ report: inout ParityReport
    ) throws -> [Choice] {
        var choices: [Choice] = []
        /// The stages that each function has had.
        var done: [Int: Set<Stage>] = [:]
        if let golden = options.inputs.golden, golden.isDecoding,
            program.functions.contains(where: { !$0.states.isEmpty })
        {
            let result = try DecodingStage(program, model: model, golden: golden, lossy: lossy, options: options).run()
            report.add(result, asked: options.stages)
            for index in result.functions {
                done[index] = result.fed.contains(index) ? [.graph, .outputs] : [.operators, .graph, .outputs]
            }
        } else {
            for (index, feed, golden) in try given(to: program, model, options.inputs) {
                // Operators do the same for each sample.
                let isFirst = done.updateValue([.operators, .graph, .outputs], forKey: index) == nil
                let stages: Set<Stage> = isFirst ? [.operators, .graph, .outputs] : [.graph, .outputs]
                choices.append(Choice(function: index, feed: feed, golden: golden, stages: stages))
            }
        }
        var drawn: [String] = []
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        for (index, function) in program.functions.enumerated() {
            let rest = Set([Stage.operators, .graph, .outputs]).subtracting(done[index] ?? [])
            guard !rest.isDisjoint(with: options.stages), model?.reasons[index] == nil else { continue }
            if let frozen = model?.functions[index] {
                try frozen.requireMemoryForInputs()
                choices.append(Choice(function: index, feed: SeededInputs(seed: seed).feed(for: frozen), stages: rest))
                drawn.append(function.name)
            } else {
                report.notCompared.append(
                    .init(stage: .outputs, name: function.name, reason: "the inputs are not of its shapes"))
            }
        }
        if options.inputs.seed == nil, !drawn.isEmpty { report.draw(for: drawn, seed: seed) }
        return choices
    }

    /// The runs that the inputs ask for.
    private func given(
        to program: CompiledProgram, _ model: ReferenceModel?, _ source: InputSource
    ) throws -> [(function: Int, feed: FunctionFeed, golden: Golden?)] {
        switch source {
        case .golden(let golden):
            return try golden.samples.flatMap { sample in
                try InputMatcher(golden: sample).functions(of: program).map { ($0.function, $0.feed, sample) }
            }
        case .file(let path):
            return try InputMatcher(file: path).functions(of: program).map { ($0.function, $0.feed, nil) }
        case .seeded:
            guard model != nil else {
                throw RequestError(
                    "there is nothing to compare with: give --against MODEL or --golden FILE", status: .unavailable)
            }
            return []
        }
    }

    private func check(
        _ run: FunctionRun, _ options: Options, _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        let stages = options.stages
        var original: [String: HostTensor] = [:]
        if let frozen = run.frozen {
            progress(.operators, 0)
            if stages.contains(.operators) {
                let result = try OperatorStage(run: run, budget: options.budget)
                    .findings(of: frozen, keepingUpTo: options.intermediateBytes)
                report.operators += result.findings
                original = result.outputs
            } else {
                original = try run.originalValues(of: frozen, keeping: []).outputs
            }
        } else if stages.contains(.operators) {
            report.notCompared.append(
                .init(stage: .operators, name: run.function.name, reason: "there is no model to compare with"))
        }
        guard !stages.isDisjoint(with: [.graph, .outputs]) else { return }
        progress(.graph, 0)
        let actual = try run.runner.run(run.index, run.feed)
        let stage = OutputStage(run: run, budget: options.budget, actual: actual)
        if stages.contains(.graph) {
            if let frozen = run.frozen {
                let expected = run.lossyWeights.isEmpty ? original : try run.storedOutputs(of: frozen)
                report.add(stage.graph(storedOutputs: expected))
            } else {
                report.notCompared.append(
                    .init(stage: .graph, name: run.function.name, reason: "there is no model to compare with"))
            }
        }
        if stages.contains(.outputs) {
            progress(.outputs, 0)
            if let golden = run.golden {
                report.add(stage.outputs(golden: golden, originalOutputs: original))
                report.addUnread(golden, of: run.function)
            } else {
                report.add(stage.outputs(originalOutputs: original))
            }
        }
    }
}
