import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The stages of a Core ML package: its weights, and the outputs of its functions by the reference implementation of
/// its operations, with results of type fp16 rounded to it.
struct CoreMLStages: StageRunner {
    private(set) var report: ParityReport
    private let package: CoreMLPackage
    private let weights: [CoreMLWeight]
    /// The model's programs, with weights scaled as the package records; nil if there is only a golden file to compare
    /// with.
    private let programs: [Program]?
    /// The model's files; nil if they are not known.
    private let original: OriginalModel?
    private let options: Parity.Options
    /// The reference is the recorded source of the package, as far as can be known.
    private var isMadeOfReference: Bool { original?.isSource(of: package.madeOfSources) ?? true }
    /// The repeated export of the model; nil before it is made, or if it is not possible.
    private var remake: CoreMLRemake?
    /// The package's weights by the model's names.
    private var stored: [String: StoredTensor] = [:]
    private var areWeightsRight = true

    /// - Throws: `RequestError` if there is nothing to compare with; `FormatError` if the recorded scalings change the
    ///   results of the model.
    init(of package: CoreMLPackage, against reference: Subject?, _ options: Parity.Options) throws {
        (self.package, self.options) = (package, options)
        original = reference?.original
        programs = try reference?.programs.map { try Self.scaled($0, as: package) }
        if case .seeded = options.inputs, programs == nil, options.stages != [.container] {
            throw InputSource.nothingToCompareWith
        }
        weights = try package.weights
        report = ParityReport(
            functions: package.model.interfaces.map(\.function),
            storedBytes: weights.withoutRepeated.reduce(0) { $0 + $1.storedBits } / 8,
            storedElements: weights.withoutRepeated.reduce(0) { $0 + $1.shape.count }, inputs: options.inputs,
            budget: options.budget)
        report.isUnranked = true
        report.outputNames = Set(package.model.interfaces.flatMap { $0.outputs.map(\.name) })
        var stages = options.stages.subtracting([.operators])
        if programs == nil { stages.remove(.structure) }
        report.stages = stages.sorted()
    }

    /// The model's parts with the weight scalings that the package records.
    private static func scaled(_ programs: [Program], as package: CoreMLPackage) throws -> [Program] {
        let scalings = try package.scalings
        guard !scalings.isEmpty else { return programs }
        let parts = package.parts
        guard let scaled = ScaledWeights(of: programs.filter { parts.contains($0.name) }, scaled: scalings) else {
            throw package.error(
                "accelc.scalings",
                "the exponents of \(Wording.count(scalings.count, "weight")) do not cancel out in the model that they are "
                    + "compared with")
        }
        return programs.map { $0.replacing(scaled.tensors) }
    }

    /// Drawn inputs always fit the model, so a mismatch is the package's.
    private func blaming<Result>(_ body: () throws -> Result) throws -> Result {
        guard case .seeded = options.inputs else { return try body() }
        return try package.blaming("functions", body)
    }

    mutating func checkContainer() throws {
        if try package.check() {
            report.containerFiles = weights.contains { $0.storedBits > 0 } ? 2 : 1
        } else {
            report.stages.removeAll { $0 == .container }
            report.remark("the package carries no digests: another tool made it, or accelc before it wrote any")
        }
    }

    /// Compares the package with a repeated export. Does nothing without a model.
    mutating func compareStructure() throws {
        guard let programs, options.stages != [.container] else { return }
        guard isMadeOfReference else {
            report.remark(
                "the package was not made of what it is compared with, so that it is not made again: programs and codes are held "
                    + "to limits, not compared exactly")
            return
        }
        let remake = try blaming { try CoreMLRemake(of: package, from: programs, threads: options.threads) }
        self.remake = remake
        guard options.stages.contains(.structure) else { return }
        var finding = remake.finding
        if let original { finding.compareSources(of: package, with: original.sources) }
        finding.remarks = (report.structure?.remarks ?? []) + finding.remarks
        report.structure = finding
    }

    mutating func compareWeights(progress: (Double) -> Void) throws {
        guard let programs else {
            if options.stages.contains(.weights) {
                report.skip(.weights, "all weights", "there is no model to compare with")
            }
            return
        }
        let constants = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
        let sources = Dictionary(constants.map { ($0.name, $0) }) { first, _ in first }
        let remake = remake
        // If the package was made from another model, its tables are checked only by the outputs of the functions.
        let names = programs.flatMap(\.constants).filter { !$0.isWeight }.map {
            CoreMLWeightMatcher.identifier($0.name)
        }
        let tables = isMadeOfReference ? [] : Set(names)
        let stage = CoreMLWeightStage(
            package: package, sources: sources.values.sorted { $0.name < $1.name }, budget: options.budget,
            threads: options.threads,
            asksForNearest: isMadeOfReference && remake?.isMade != true && !package.dependsOnCalibration,
            isProved: { remake?.proves($0) ?? tables.contains(CoreMLWeightMatcher.identifier($0)) },
            schemes: remake?.schemes ?? [:], bounds: remake?.bounds ?? [:])
        let result = try blaming { try stage.run(weights, progress: progress) }
        stored = result.stored
        areWeightsRight = result.weights.allSatisfy { row in
            row.failure == nil || options.budget?.tolerance(forWeight: row.name) != nil
        }
        guard options.stages.contains(.weights) else { return }
        (report.weights, report.weightMetrics) = (result.weights, result.metrics)
        report.notCompared += result.notCompared
        // Codes are compared exactly by the export made again, whose differences are the structure's where that is asked for.
        if !options.stages.contains(.structure), let remake {
            report.misfits = remake.finding.differences.map { "\($0.name): \($0.reason)" }
        }
        if !result.unproved.isEmpty {
            report.remark(
                "codes of \(Wording.count(result.unproved.count, "weight")) are held to limits only, as their forms do not "
                    + "tell which would be nearer: \(Wording.listed(result.unproved))")
        }
    }

    mutating func runFunctions(_ progress: (Stage, Double) -> Void) throws {
        guard !options.stages.isDisjoint(with: [.graph, .outputs]) else { return }
        let lines = weights.filter { $0.shape.rank >= 2 }.map { SchemeTolerance.line(for: $0) }
        let weakest = (lines + (remake?.schemes.values ?? [:].values)).min { $0.output < $1.output }
        let limits = CoreMLLimits(weakest: weakest, areWeightsRight: areWeightsRight)
        var report = report
        try blaming { try checkFunctions(limits, &report, progress) }
        self.report = report
    }

    /// One of the enumerated shapes of a function.
    private struct FunctionShape: Hashable {
        let function: String
        let index: Int

        init(_ interface: CoreMLModel.Interface, _ index: Int) { (function, self.index) = (interface.function, index) }
    }

    /// The drawn inputs and states of functions.
    private struct DrawnFeeds {
        private let inputs: DrawnInputs
        /// The index of a run's function of the model among those of `inputs`; nil where the model has none.
        private let indices: [Int?]

        init(_ runs: [CoreMLRun], _ programs: [Program], seed: UInt64) throws {
            var models: [FrozenProgram] = []
            indices = try runs.map { run in
                try run.reference(programs, [:]).map { model in
                    try model.requireMemoryForInputs()
                    models.append(model)
                    return models.count - 1
                }
            }
            inputs = DrawnInputs(models, seed: seed)
        }

        func feed(for run: Int) throws -> FunctionFeed? { try indices[run].flatMap(inputs.feed) }
    }

    /// Runs S3 and S4 on the given inputs, and with a model on drawn inputs for all other functions and shapes.
    private func checkFunctions(
        _ limits: CoreMLLimits, _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        var done: Set<FunctionShape> = []
        var count = 0
        var refused: [(run: CoreMLRun, error: SamplesTooLong)] = []
        let interfaces = package.model.interfaces
        if let decoding = try decoding() {
            progress(.outputs, 0)
            let findings = try decoding.findings(options.inputs.golden, programs ?? [], stored: stored, limits, options)
            report.outputs += findings.outputs
            report.notCompared += findings.notCompared
            let names = decoding.names
            done = Set(interfaces.filter { names.contains($0.function) }.map { FunctionShape($0, 0) })
            count += decoding.sequences.reduce(0) { $0 + $1.blocks.count }
        }
        let samples = options.inputs.golden.map { $0.samples.map(InputSource.golden) } ?? [options.inputs]
        for interface in interfaces where options.inputs.seed == nil && !done.contains(FunctionShape(interface, 0)) {
            for source in samples {
                for shape in try interface.shapes(of: source) {
                    progress(.outputs, 0)
                    let run = CoreMLRun(
                        package: package, interface: interface, shape: shape, source: source, stored: stored,
                        limits: limits)
                    let runs: [CoreMLRun]
                    do {
                        runs = try run.bySamples()
                    } catch let error as SamplesTooLong {
                        refused.append((run, error))
                        continue
                    }
                    for run in runs where try add(run, &report) {
                        done.insert(FunctionShape(interface, shape))
                        count += 1
                    }
                }
            }
        }
        if case .file(let file) = options.inputs {
            if done.isEmpty, let refusal = refused.first { throw refusal.error }
            // Another function takes all samples.
            for (run, _) in refused {
                let runs = (try? run.bySamples(leavingOut: true)) ?? []
                for run in runs where try add(run, &report) {
                    done.insert(FunctionShape(run.interface, run.shape))
                    count += 1
                }
                report.leaveOut(
                    run.function, taken: runs.compactMap(\.sample?.rows.own), of: runs.first?.sample?.samples)
            }
            guard !done.isEmpty else {
                throw package.noFunction(takes: try InputMatcher(file, for: package.functionInterfaces))
            }
            report.countRuns(count)
            report.joinSamples()
        }
        try checkDrawn(limits, besides: done, &report, progress)
        if let golden = options.inputs.golden, options.stages.contains(.outputs) { requireOutputs(of: golden, &report) }
    }

    /// Runs S3 and S4 on drawn inputs, for the functions and shapes that have not run.
    private func checkDrawn(
        _ limits: CoreMLLimits, besides done: Set<FunctionShape>, _ report: inout ParityReport,
        _ progress: (Stage, Double) -> Void
    ) throws {
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        let runs = package.model.interfaces.flatMap { interface in
            (0..<interface.shapeCount).map { shape in
                CoreMLRun(
                    package: package, interface: interface, shape: shape, source: .seeded(seed), stored: stored,
                    limits: limits)
            }
        }
        let rest = runs.indices.filter { !done.contains(FunctionShape(runs[$0].interface, runs[$0].shape)) }
        guard !rest.isEmpty else { return }
        let feeds = try DrawnFeeds(runs, programs ?? [], seed: seed)
        var drawn: [String] = []
        for index in rest {
            progress(.outputs, 0)
            var run = runs[index]
            run.drawn = try feeds.feed(for: index)
            if programs != nil, try add(run, &report) {
                drawn.append(run.function)
                continue
            }
            report.skip(
                .outputs, run.function, "the inputs are not of its names and shapes", isRequired: programs != nil)
        }
        if !drawn.isEmpty, options.inputs.seed == nil { report.draw(for: drawn, seed: seed) }
    }

    /// The blocks of a decoder's golden, or of a file's samples; nil for other inputs, and where no functions share states.
    private func decoding() throws -> CoreMLDecoding? {
        switch options.inputs {
        case .golden(let golden) where golden.isDecoding: try CoreMLDecoding(package, golden: golden)
        case .file(let file):
            if programs != nil, let given = try InputMatcher(file, for: package.functionInterfaces).samples {
                try CoreMLDecoding(package, samples: given)
            } else {
                nil
            }
        case .golden, .seeded: nil
        }
    }

    /// Lists the outputs of a golden that functions have which do not take its inputs: else they would pass unseen.
    private func requireOutputs(of golden: Golden, _ report: inout ParityReport) {
        let id = CoreMLWeightMatcher.identifier
        let compared = Set(report.outputs.filter { $0.reference == .golden }.map { id($0.name) })
        for sample in golden.samples {
            for name in sample.outputs.keys.sorted() where !compared.contains(id(name + sample.suffix)) {
                guard
                    let interface = package.model.interfaces.first(where: {
                        $0.outputs.contains { id($0.name) == id(name) }
                    })
                else {
                    continue
                }
                let run = CoreMLRun(
                    package: package, interface: interface, source: .golden(sample), stored: stored,
                    limits: CoreMLLimits())
                report.skip(
                    .outputs, "\(interface.function) out.\(name)\(sample.suffix)",
                    Golden.lacksInputs(run.unfitting(in: sample)), isRequired: true)
            }
        }
    }

    /// - Returns: Whether the inputs fit the function.
    private func add(_ run: CoreMLRun, _ report: inout ParityReport) throws -> Bool {
        do {
            guard let result = try run.result(programs ?? [], options) else { return false }
            report.add(result)
        } catch let error as any ReportedError where report.structure?.differences.isEmpty == false {
            // The package is known to differ; its failures are reported too.
            report.skip(.outputs, run.function, error.description, isRequired: true)
        }
        return true
    }
}
