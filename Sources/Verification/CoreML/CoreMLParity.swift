import ByteIO
import Exporters
import Programs
import Tensors
import WeightCompression

/// Compares a Core ML package with a model: its weights, and what its functions give by the reference meaning of its
/// operations, with results of type fp16 rounded to it.
struct CoreMLParity {
    let package: CoreMLPackage
    /// The model's programs; nil when there is only a golden file to compare with.
    let programs: [Program]?

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
        var stages = options.stages.intersection([.container, .weights, .graph, .outputs])
        if stages.contains(.container) {
            progress(.container, 0)
            if try package.check() {
                report.containerFiles = weights.contains { $0.storedBits > 0 } ? 2 : 1
            } else {
                stages.remove(.container)
                report.remarks.append(
                    "the package carries no digests: another tool made it, or accelc before it wrote any")
            }
        }
        report.stages = stages.sorted()
        var isMade = false
        if let programs, !stages.isDisjoint(with: [.weights, .graph, .outputs]) {
            progress(.weights, 0)
            let remake = try CoreMLRemake(of: package, from: programs, threads: options.threads)
            report.misfits += remake.differences
            report.remarks += remake.open
            isMade = remake.isMade
        }
        var stored: [String: StoredTensor] = [:]
        if let programs {
            let constants = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
            let sources = Dictionary(constants.map { ($0.name, $0) }) { first, _ in first }
            let stage = CoreMLWeightStage(
                package: package, sources: sources.values.sorted { $0.name < $1.name }, budget: options.budget,
                threads: options.threads, asksForNearest: !isMade && !package.dependsOnCalibration)
            let result = try stage.run(weights) { progress(.weights, $0) }
            stored = result.stored
            if options.stages.contains(.weights) {
                (report.weights, report.weightMetrics) = (result.weights, result.metrics)
                report.notCompared += result.notCompared
                if !result.unproved.isEmpty {
                    report.remarks.append(
                        "codes of \(Figure.plural(result.unproved.count, "weight")) are held to limits only, as their "
                            + "forms do not tell which would be nearer: \(result.unproved.prefix(3).joined(separator: ", "))"
                            + (result.unproved.count > 3 ? ", ..." : ""))
                }
            }
        } else if options.stages.contains(.weights) {
            report.notCompared.append(
                NotCompared(stage: .weights, name: "all weights", reason: "there is no model to compare with"))
        }
        let weakest = weights.filter { $0.shape.rank >= 2 }.map(SchemeTolerance.line).min { $0.output < $1.output }
        if let golden = options.inputs.golden, golden.isDecoding {
            progress(.outputs, 0)
            let decoding = CoreMLDecoding(
                package: package, golden: golden, programs: programs ?? [], stored: stored, weakest: weakest)
            let result = try decoding.result(options)
            report.outputs += result.outputs
            report.notCompared += result.notCompared
            report.checkSize(budget: options.budget)
            return report
        }
        let samples: [InputSource] =
            options.inputs.golden.map { $0.samples.map(InputSource.golden) } ?? [options.inputs]
        for interface in package.model.interfaces {
            for source in samples {
                for shape in try interface.shapes(of: source) {
                    progress(.outputs, 0)
                    let run = CoreMLRun(
                        package: package, interface: interface, shape: shape, source: source, stored: stored,
                        weakest: weakest)
                    do {
                        let result = try run.result(programs ?? [], options)
                        report.outputs += result.outputs
                        report.notCompared += result.notCompared
                    } catch let error as any ReportedError where !report.misfits.isEmpty {
                        // The package is known to be another one; what it fails at goes into the report too.
                        report.notCompared.append(
                            NotCompared(
                                stage: .outputs, name: interface.function, reason: error.description, isRequired: true))
                    }
                }
            }
        }
        report.checkSize(budget: options.budget)
        return report
    }
}
