import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Compares a Core ML package with a model: its weights, and what its functions give by the reference meaning of its
/// operations, with results of type fp16 rounded to it.
struct CoreMLParity {
    let package: CoreMLPackage
    /// The model's programs; nil when there is only a golden file to compare with.
    let programs: [Program]?
    /// What there is to know of the model's files.
    var original: OriginalModel?

    func check(_ options: Parity.Options, progress: (Stage, Double) -> Void) throws -> ParityReport {
        // Inputs that are drawn fit the model: what they do not fit is the package.
        guard case .seeded = options.inputs else { return try report(options, progress: progress) }
        return try package.blaming("functions") { try report(options, progress: progress) }
    }

    private func report(_ options: Parity.Options, progress: (Stage, Double) -> Void) throws -> ParityReport {
        if case .seeded = options.inputs, programs == nil {
            throw RequestError(
                "there is nothing to compare with: give --against MODEL or --golden FILE", status: .unavailable)
        }
        let weights = try package.weights
        var report = ParityReport(
            functions: package.model.interfaces.map(\.function),
            storedBytes: weights.reduce(0) { $0 + $1.storedBits } / 8,
            storedElements: weights.reduce(0) { $0 + $1.shape.count }, inputs: options.inputs, budget: options.budget)
        var stages = options.stages.subtracting([.operators])
        if stages.contains(.container) {
            progress(.container, 0)
            if try package.check() {
                report.containerFiles = weights.contains { $0.storedBits > 0 } ? 2 : 1
            } else {
                stages.remove(.container)
                report.remark("the package carries no digests: another tool made it, or accelc before it wrote any")
            }
        }
        if programs == nil { stages.remove(.structure) }
        report.stages = stages.sorted()
        let remake = try remake(options, &report, progress)
        let stored = try checkWeights(weights, remake, options, &report, progress)
        if !options.stages.isDisjoint(with: [.graph, .outputs]) {
            let weakest = weights.filter { $0.shape.rank >= 2 }.map(SchemeTolerance.line)
                .min { $0.output < $1.output }
            try checkFunctions(stored, weakest, options, &report, progress)
        }
        report.checkSize(budget: options.budget)
        return report
    }

    /// ST: the package against an export made again; nil without a model.
    private func remake(
        _ options: Parity.Options, _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws -> CoreMLRemake? {
        guard let programs, options.stages != [.container] else { return nil }
        progress(.structure, 0)
        let remake = try CoreMLRemake(of: package, from: programs, threads: options.threads)
        guard options.stages.contains(.structure) else { return remake }
        var finding = remake.finding
        if let original { finding.compareSources(of: package, with: original.sources) }
        finding.remarks = (report.structure?.remarks ?? []) + finding.remarks
        report.structure = finding
        return remake
    }

    /// S1.
    /// - Returns: the package's weights by the model's names.
    private func checkWeights(
        _ weights: [CoreMLWeight], _ remake: CoreMLRemake?, _ options: Parity.Options, _ report: inout ParityReport,
        _ progress: (Stage, Double) -> Void
    ) throws -> [String: StoredTensor] {
        guard let programs else {
            if options.stages.contains(.weights) {
                report.notCompared.append(
                    NotCompared(stage: .weights, name: "all weights", reason: "there is no model to compare with"))
            }
            return [:]
        }
        let constants = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
        let sources = Dictionary(constants.map { ($0.name, $0) }) { first, _ in first }
        let stage = CoreMLWeightStage(
            package: package, sources: sources.values.sorted { $0.name < $1.name }, budget: options.budget,
            threads: options.threads, asksForNearest: remake?.isMade != true && !package.dependsOnCalibration,
            isProved: { remake?.proves($0) ?? false }, bounds: remake?.bounds ?? [:])
        let result = try stage.run(weights) { progress(.weights, $0) }
        guard options.stages.contains(.weights) else { return result.stored }
        (report.weights, report.weightMetrics) = (result.weights, result.metrics)
        report.notCompared += result.notCompared
        if !result.unproved.isEmpty {
            report.remark(
                "codes of \(Wording.count(result.unproved.count, "weight")) are held to limits only, as their forms do not "
                    + "tell which would be nearer: \(result.unproved.prefix(3).joined(separator: ", "))"
                    + (result.unproved.count > 3 ? ", ..." : ""))
        }
        return result.stored
    }

    /// One of the shapes of a function.
    private struct FunctionShape: Hashable {
        let function: String
        let index: Int

        init(_ interface: CoreMLModel.Interface, _ index: Int) { (function, self.index) = (interface.function, index) }
    }

    /// S3 and S4: what the inputs are for, and with a model all else on drawn inputs.
    private func checkFunctions(
        _ stored: [String: StoredTensor], _ weakest: SchemeTolerance?, _ options: Parity.Options,
        _ report: inout ParityReport, _ progress: (Stage, Double) -> Void
    ) throws {
        var done: Set<FunctionShape> = []
        let interfaces = package.model.interfaces
        if let golden = options.inputs.golden, golden.isDecoding {
            progress(.outputs, 0)
            let result = try CoreMLDecoding(
                package: package, golden: golden, programs: programs ?? [], stored: stored, weakest: weakest
            ).result(options)
            report.outputs += result.outputs
            report.notCompared += result.notCompared
            done = Set(interfaces.filter { result.functions.contains($0.function) }.map { FunctionShape($0, 0) })
        } else {
            let samples = options.inputs.golden.map { $0.samples.map(InputSource.golden) } ?? [options.inputs]
            for interface in interfaces {
                for source in samples {
                    for shape in try interface.shapes(of: source) {
                        progress(.outputs, 0)
                        let run = CoreMLRun(
                            package: package, interface: interface, shape: shape, source: source, stored: stored,
                            weakest: weakest)
                        if try add(run, options, &report) { done.insert(FunctionShape(interface, shape)) }
                    }
                }
            }
        }
        let seed = options.inputs.seed ?? InputSource.defaultSeed
        var drawn: [String] = []
        for interface in interfaces {
            for shape in 0..<interface.shapeCount where !done.contains(FunctionShape(interface, shape)) {
                progress(.outputs, 0)
                let run = CoreMLRun(
                    package: package, interface: interface, shape: shape, source: .seeded(seed), stored: stored,
                    weakest: weakest)
                if programs != nil, options.inputs.seed == nil, try add(run, options, &report) {
                    drawn.append(run.function)
                    continue
                }
                report.notCompared.append(
                    NotCompared(
                        stage: .outputs, name: run.function, reason: "the inputs are not of its names and shapes",
                        isRequired: programs != nil))
            }
        }
        if !drawn.isEmpty { report.draw(for: drawn, seed: seed) }
    }

    /// - Returns: whether the inputs are the function's.
    private func add(_ run: CoreMLRun, _ options: Parity.Options, _ report: inout ParityReport) throws -> Bool {
        do {
            guard let result = try run.result(programs ?? [], options) else { return false }
            report.add(result)
        } catch let error as any ReportedError where report.structure?.differences.isEmpty == false {
            // The package is known to be another one; what it fails at goes into the report too.
            report.notCompared.append(
                NotCompared(
                    stage: .outputs, name: run.function, reason: error.description, isRequired: true))
        }
        return true
    }
}
