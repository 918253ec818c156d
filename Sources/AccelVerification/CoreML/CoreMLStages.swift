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

    /// Runs S3 and S4 on the given inputs, and with a model on random inputs for all other functions and shapes.
    private func checkFunctions(
        _ limits: CoreMLLimits, _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        let functions = CoreMLFunction.all(of: package)
        let feeds = try FeedPlan(
            functions.plan(fitting: options.inputs), on: options.inputs, decodesSamples: programs != nil,
            requiresRuns: false)
        let comparison = try CoreMLComparison(
            functions, feeds.program, sharing: feeds.decoded, programs ?? [], stored: stored, limits, options)
        for sequence in feeds.sequences {
            progress(.outputs, 0)
            let findings = try comparison.findings(sequence)
            report.outputs += findings.outputs
            report.notCompared += findings.notCompared
        }
        for index in feeds.decoded.sorted() where comparison.models[index] == nil && programs != nil {
            report.skip(.outputs, functions[index].title, "no part of the model has its inputs", isRequired: true)
        }
        var done = feeds.decoded
        var count = feeds.sequences.reduce(0) { $0 + $1.blocks.count }
        for run in feeds.single {
            progress(.outputs, 0)
            guard try add(run, comparison, &report) else { continue }
            done.insert(run.function)
            count += 1
        }
        if feeds.file != nil {
            report.leaveOut(feeds.leftOut)
            report.countRuns(count)
            report.joinSamples()
        }
        try checkDrawn(comparison, besides: done, &report, progress)
        if let golden = options.inputs.golden, options.stages.contains(.outputs) {
            let compared = Set(report.outputs.filter { $0.reference == .golden }.map(\.name))
            report.notCompared += feeds.unreached(in: golden, besides: compared)
        }
    }

    /// Runs S3 and S4 on random inputs, for the functions and shapes that have not run.
    private func checkDrawn(
        _ comparison: CoreMLComparison, besides done: Set<Int>, _ report: inout ParityReport,
        _ progress: (Stage, Double) -> Void
    ) throws {
        let rest = comparison.functions.indices.filter { !done.contains($0) }
        let known = comparison.models.indices.filter { comparison.models[$0] != nil }
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        let inputs = DrawnInputs(comparison.models.compactMap(\.self), seed: seed)
        var drawn: [String] = []
        for index in rest {
            progress(.outputs, 0)
            let title = comparison.functions[index].title
            let feed = try known.firstIndex(of: index).flatMap(inputs.feed)
            if programs != nil, try add(.init(function: index, feed: feed ?? FunctionFeed()), comparison, &report) {
                drawn.append(title)
            } else {
                report.skip(
                    .outputs, title, "the inputs are not of its names and shapes", isRequired: programs != nil)
            }
        }
        if !drawn.isEmpty, options.inputs.seed == nil { report.draw(for: drawn, seed: seed) }
    }

    /// - Returns: Whether the inputs fit the function.
    private func add(
        _ run: FeedPlan.Run, _ comparison: CoreMLComparison, _ report: inout ParityReport
    ) throws -> Bool {
        do {
            guard let result = try comparison.findings(run) else { return false }
            report.add(result)
        } catch let error as any ReportedError where report.structure?.differences.isEmpty == false {
            // The package is known to differ; its failures are reported too.
            report.skip(.outputs, comparison.functions[run.function].title, error.description, isRequired: true)
        }
        return true
    }
}
