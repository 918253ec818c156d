import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The stages of a model plan: a package, or a program in memory.
struct ProgramStages: StageRunner {
    private(set) var report: ParityReport
    let program: ModelPlan
    /// nil for a program in memory; there is no container to check.
    private let package: AcceleratorPackage?
    private let reference: Subject?
    let options: Parity.Options
    /// The model that the program comes from; nil without one.
    private(set) var model: ReferenceModel?
    /// Names of the weights that differ from the checkpoint's.
    private(set) var lossy: Set<String> = []
    /// Names of the weights that are not the checkpoint's in their scheme: what they lose is no scheme's loss.
    private(set) var wrong: Set<String> = []
    /// The runs of each function on the inputs of a file or golden.
    private(set) var feeds: [Int: [FunctionFeed]] = [:]

    init(
        of program: ModelPlan, in package: AcceleratorPackage?, against reference: Subject?,
        _ options: Parity.Options
    ) {
        (self.program, self.package, self.reference, self.options) = (program, package, reference, options)
        report = ParityReport(
            of: program, inputs: options.inputs, budget: options.budget, storedBits: options.storedBits)
        report.stages = options.stages.sorted()
        report.packageDigest = package?.digest
    }

    /// The reference is the recorded source of the package, as far as can be known.
    private var isMadeOfReference: Bool {
        guard let package, let original = reference?.original else { return true }
        return original.isSource(of: package.manifest.provenance.sources.map { ($0.name, $0.digest.description) })
    }

    mutating func checkContainer() throws {
        guard let package else { return }
        try package.check(includesReport: false)
        report.containerFiles = package.checkedFileCount
    }

    mutating func compareStructure() throws {
        if let package {
            report.coverage = try package.coverage.map(CoverageFinding.init)
            report.unused = try package.unusedTensors
        }
        guard let reference, let programs = reference.programs else {
            try requireMemory()
            if options.stages.contains(.structure) {
                report.skip(.structure, "the whole package", "there is no model to compare with")
            }
            return
        }
        let fixed = reference.original?.functions ?? []
        if options.stages.contains(.structure) {
            report.structure = try StructureStage(
                of: try package?.contents ?? PackageContents(inMemory: ModelGraph(of: program)), programs: programs,
                original: package != nil && isMadeOfReference ? reference.original : nil, package: package,
                fixed: fixed, isOfAnother: !isMadeOfReference
            ).run()
        }
        model = try ReferenceModel(programs, fixed: fixed, for: program, in: package)
        try requireMemory()
    }

    private func requireMemory() throws {
        guard !options.stages.isDisjoint(with: [.operators, .graph, .outputs]) else { return }
        try PackageRunner.requireMemory(for: program, beside: model?.functions ?? [])
    }

    mutating func compareWeights(progress: (Double) -> Void) throws {
        guard !options.stages.isDisjoint(with: [.weights, .operators, .graph, .outputs]) else { return }
        guard let model else {
            if options.stages.contains(.weights) {
                report.skip(.weights, "all weights", "there is no model to compare with")
            }
            // Without the checkpoint, a weight counts as lossy if its encoding may lose something.
            lossy = Set(
                program.weights.filter { SchemeTolerance.line(for: $0).isLossy }.map(\.name))
            return
        }
        // Without a function of the model nothing says which weights it has.
        if model.functions.allSatisfy({ $0 == nil }), let reason = model.reasons.compactMap(\.self).first {
            lossy = Set(program.weights.map(\.name))
            if options.stages.contains(.weights) {
                report.skip(.weights, "all weights", reason, isRequired: true)
            }
            return
        }
        var stage = WeightStage(program: program, model: model, budget: options.budget, threads: options.threads)
        // The other stages only have to know which weights have lost something.
        stage.provesCodes = options.stages.contains(.weights)
        stage.freeCodes = Set(options.freeCodes.keys)
        if let package {
            stage.recorded = Dictionary(try package.coverage.map { ($0.tensor.name, $0.distortion) }) { first, _ in
                first
            }
            stage.otherCodecs = package.manifest.provenance.otherCodecs
            stage.isOfAnother = !isMadeOfReference
            stage.encoded = reference?.original?.encoded ?? [:]
        }
        let result = try stage.run(progress: progress)
        if options.stages.contains(.weights) {
            report.weights = result.weights.map { finding in
                var finding = finding
                if let bits = options.storedBits[finding.name] { finding.byteCount = (bits + 7) / 8 }
                return finding
            }
            report.weightMetrics = result.metrics
            report.misfits = result.misfits
        }
        lossy = Set(result.weights.filter { !$0.metrics.isExact }.map(\.name))
        wrong = Set(result.weights.filter(\.isWrong).map(\.name))
    }

    /// A run of a function for some of the stages.
    private struct Choice {
        let run: FeedPlan.Run
        let stages: Set<Stage>

        init(_ run: FeedPlan.Run, _ stages: Set<Stage>) { (self.run, self.stages) = (run, stages) }
    }

    mutating func runFunctions(_ progress: (Stage, Double) -> Void) throws {
        let sides = PackageSides(program, model, lossy: lossy, wrong: wrong, threads: options.threads)
        for (index, reason) in (model?.reasons ?? []).enumerated() {
            guard let reason else { continue }
            report.skip(.outputs, program.functions[index].name, reason, isRequired: true)
        }
        for (number, choice) in try choices(sides).enumerated() {
            let run = sides.run(
                choice.run.function, try choice.run.feed.completed(), golden: choice.run.golden)
            var own = options
            own.stages.formIntersection(choice.stages)
            do {
                try check(run, own) { stage, done in progress(stage, (Double(number) + done)) }
            } catch let error as any ReportedError where report.structure?.differences.isEmpty == false {
                // The package is known to differ; its failures are reported too.
                report.skip(own.stages.max() ?? .outputs, run.function.name, error.description, isRequired: true)
            }
        }
        if case .file = options.inputs { report.joinSamples() }
        if options.stages.contains(.outputs) { rankWeights() }
        // A golden is from the model before its weights were compressed. A reference with fixed dimensions, such as a
        // package, does not have to match the golden; only the verified package does.
        if reference?.original?.functions.isEmpty == false {
            report.outputs.removeAll { $0.reference == .modelAgainstGolden }
        }
    }

    /// Ranks the weights. A package that is known to differ from the model is not ranked.
    private mutating func rankWeights() {
        guard options.ranksWeights, report.structure?.differences.isEmpty != false else { return }
        do {
            let found = try losses()
            (report.losses, report.rankingRuns, report.rankingDrawn) = (found.ranked, found.runs, found.drawn)
            report.rankingTokens = found.tokens
            report.rankingLacksOperators =
                report.losses.isEmpty && model != nil && !lossy.isEmpty && !options.stages.contains(.operators)
        } catch {
            report.remark("the weights are not ranked by their losses: \(error)")
        }
    }

    /// The runs: the functions that take the inputs, and with a model all other functions on drawn inputs, so that none
    /// is left out.
    private mutating func choices(_ sides: PackageSides) throws -> [Choice] {
        var choices: [Choice] = []
        /// The stages that have run for each function.
        var done: [Int: Set<Stage>] = [:]
        let feeds = try feedPlan()
        let decoded = try decode(feeds, sides)
        if let golden = options.inputs.golden, let decoded {
            for index in decoded.functions {
                done[index] = decoded.fed.contains(index) ? [.graph, .outputs] : [.operators, .graph, .outputs]
            }
            let rest = rest(of: golden, feeds, after: decoded)
            report.notCompared += rest.left
            for run in rest.runs {
                done[run.function] = [.operators, .graph, .outputs]
                choices.append(Choice(run, [.operators, .graph, .outputs]))
            }
        } else {
            self.feeds = Dictionary(grouping: feeds.runs, by: \.function).mapValues { $0.map(\.feed) }
            let single = decoded == nil ? feeds.runs : feeds.single
            if feeds.file != nil {
                report.countRuns((decoded?.runs ?? 0) + single.count)
                let made = Set(single.filter(\.isMade).map(\.function))
                if !made.isEmpty { report.feedByOriginal(made.sorted().map { program.functions[$0].name }) }
            }
            report.leaveOut(feeds.leftOut)
            if let golden = options.inputs.golden {
                let compared = feeds.runs.flatMap { run in
                    program.functions[run.function].results.map { $0.name + (run.golden?.suffix ?? "") }
                }
                report.notCompared += feeds.unreached(in: golden, besides: Set(compared))
            }
            for run in feeds.runs {
                // One sample is enough for the operators.
                let isFirst = done.updateValue([.operators, .graph, .outputs], forKey: run.function) == nil
                var stages: Set<Stage> = isFirst ? [.operators, .graph, .outputs] : [.graph, .outputs]
                if decoded?.functions.contains(run.function) == true { stages.subtract([.graph, .outputs]) }
                if !stages.isEmpty { choices.append(Choice(run, stages)) }
            }
            for index in decoded?.functions ?? [] { done[index, default: []].formUnion([.graph, .outputs]) }
        }
        var (drawn, calls): ([String], [String]) = ([], [])
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        let inputs = DrawnInputs(program, model?.functions ?? [], seed: seed, sides.runner)
        for (index, function) in program.functions.enumerated() {
            let rest = Set([Stage.operators, .graph, .outputs]).subtracting(done[index] ?? [])
            guard !rest.isDisjoint(with: options.stages), model?.reasons[index] == nil else { continue }
            if let frozen = model?.functions[index] {
                try frozen.requireMemoryForInputs()
                guard let feed = try inputs.feed(for: index) else { continue }
                choices.append(Choice(.init(function: index, feed: feed), rest))
                if rest.isDisjoint(with: [.graph, .outputs]) {
                    calls.append(function.name)
                } else {
                    drawn.append(function.name)
                }
            } else {
                report.skip(.outputs, function.name, "the inputs lack some of its own, or have other shapes")
            }
        }
        if options.inputs.seed == nil { report.draw(for: drawn, calls: calls, seed: seed) }
        return choices
    }

    /// Compares the outputs of a decoder on sequences of blocks: on all tokens of a file's samples, with what an encoder makes for it, or on
    /// those of a golden.
    /// - Returns: nil if there are none.
    private mutating func decode(_ feeds: FeedPlan, _ sides: PackageSides) throws -> DecodingStage.Result? {
        guard !feeds.sequences.isEmpty else { return nil }
        let golden = options.inputs.golden
        let stage = DecodingStage(sides: sides, sequences: feeds.sequences, golden: golden, options: options)
        do {
            let result = try stage.run()
            report.add(result, asked: options.stages)
            return result
        } catch let error as any ReportedError where golden == nil && report.structure?.differences.isEmpty == false {
            // The package is known to differ: its functions run one by one.
            report.remark("the samples do not run through all functions: \(error)")
            return nil
        }
    }

    /// Returns the calls on the given inputs; what an encoder makes of them is made by the original one.
    private func feedPlan() throws -> FeedPlan {
        if options.inputs.seed != nil, model == nil { throw InputSource.nothingToCompareWith }
        let isWhole = model?.reasons.allSatisfy { $0 == nil } == true
        var feeds = try FeedPlan(program, on: options.inputs, decodesSamples: isWhole)
        if let file = feeds.file {
            feeds.runs = try EncoderStates(program: program, model: model).given(to: feeds.runs, file: file)
        }
        return feeds
    }

    func relativeSpeed() throws -> SpeedFigure? {
        guard let model else { return nil }
        let comparison = SpeedComparison(program: program, threads: options.threads)
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        return try program.functions.indices.compactMap { index in
            try (model.withOwnStates?[index] ?? model.unrounded[index])
                .map { try comparison.speed(index, $0, seed: seed) }
        }.min { $0.ratio < $1.ratio }
    }

    private mutating func check(
        _ run: FunctionRun, _ options: Parity.Options, _ progress: (Stage, Double) -> Void
    ) throws {
        let asked = options.stages.intersection([.operators, .graph, .outputs])
        var parts = [(run: run, stages: asked)]
        if run.roundsValues {
            parts = [
                (run, asked.intersection([.operators])), (run.ofGraph, asked.intersection([.graph])),
                (run.ofOutputs, asked.intersection([.outputs])),
            ]
        }
        for part in parts where !part.stages.isEmpty {
            let result = try RunComparison(
                run: part.run, stages: part.stages, budget: options.budget, seed: options.inputs.samplingSeed
            ).result(progress: progress)
            report.operators += result.operators
            report.add(result.outputs)
        }
        // The blocks of a decoder's golden have names of their own.
        if asked.contains(.outputs), let golden = run.golden, !golden.isDecoding {
            report.addUnread(golden, of: run.function, among: program.functions)
        }
    }
}
