import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// S2 to S4 of one run of a function. The package, the model with its original weights, and the model with the stored
/// weights run side by side, call by call: a value is compared as soon as all have it. So memory holds the values and
/// states of a few layers, and the weights that are just read, but never those of the whole model.
struct RunComparison {
    let run: FunctionRun
    let stages: Set<Stage>
    let budget: Budget?
    /// The seed of the rows of large weights that S2 compares.
    let seed: UInt64

    struct Result {
        var operators: [OperatorFinding] = []
        /// The findings of S3, then those of S4.
        var outputs = OutputFindings()
    }

    func result(progress: (Stage, Double) -> Void = { _, _ in }) throws -> Result {
        var result = Result()
        for stage in [Stage.operators, .graph] where run.frozen == nil && stages.contains(stage) {
            result.outputs.skip(stage, run.function.name, "there is no model to compare with", isRequired: false)
        }
        let asked = run.frozen == nil ? stages.intersection([.outputs]) : stages
        guard !asked.isEmpty else { return result }
        let sides = Sides(run, asked)
        let operators = asked.contains(.operators) ? try OperatorComparison(run, budget, seed) : nil
        let package = try run.runner.start(run.index, run.feed)
        var outputs = OutputComparison(run: run, stages: asked, budget: budget)
        for (index, call) in run.function.calls.enumerated() {
            progress(operators == nil ? .graph : .operators, Double(index) / Double(run.function.calls.count))
            try step(package, sides.all, index, beside: operators)
            if let operators {
                let values = try sides.original?.values(of: call.label)
                operators.next = .init(
                    index: index, reference: values, found: values == nil ? [] : package.results(of: index))
            }
            package.release(after: index) { outputs.actual[$0] = $1 }
            outputs.compareResults(sides)
        }
        try operators?.compareNext()
        result.operators = operators?.findings ?? []
        try sides.all.forEach { try $0.finish() }
        try package.finish { outputs.actual[$0] = $1 }
        outputs.compareResults(sides, isLast: true)
        result.outputs += outputs.result
        try allowNoise(in: &result, operators?.plans ?? [])
        return result
    }

    /// Makes a call in the run of the package, goes on to its node in those of the model, and compares the operator of the call before, all
    /// at the same time: much of this is work of one thread, and none depends on another.
    private func step(
        _ package: PackageRun, _ references: [FollowingReference], _ index: Int, beside operators: OperatorComparison?
    ) throws {
        let label = run.function.calls[index].label
        // Safe: each run is used by one thread. The error of the earliest call is thrown.
        nonisolated(unsafe) let (package, references, operators) = (package, references, operators)
        try Parallel.forEach(2 + references.count, threads: run.runner.threads) { side in
            switch side {
            case 0: try operators?.compareNext()
            case 1: try package.step(index)
            default: try references[side - 2].advance(to: label)
            }
        }
    }

    /// Widens the limits that are exceeded by the noise that this run has.
    private func allowNoise(in result: inout Result, _ plans: [(index: Int, metrics: Metrics)]) throws {
        let labels = Set(plans.map { run.function.calls[$0.index].label })
        let isBeyond = result.outputs.outputs.contains(where: \.isBeyondArithmetic)
        let noise = isBeyond || !labels.isEmpty ? try NoiseMeasurement(of: run, nodes: labels, seed: seed) : nil
        for (index, metrics) in plans {
            let limit = Tolerance.rounding.allowing(noise?.nodes[run.function.calls[index].label])
            guard let reason = limit.failureReason(for: metrics) else { continue }
            result.operators[index].failure = "the plan does not compute the model's node: \(reason)"
        }
        guard isBeyond, let noise else { return }
        let names = result.outputs.outputs.map { String($0.name.dropLast(run.suffix.count)) }
        result.outputs.allow { noise.results[names[$0]] }
    }
}

/// The comparison of operators, which is one call behind the runs.
private final class OperatorComparison {
    private let stage: OperatorStage
    /// The call that is compared next.
    var next: OperatorStage.Made?
    private(set) var findings: [OperatorFinding] = []
    /// The calls whose execution plan differs from the model's node by more than arithmetic usually does.
    private(set) var plans: [(index: Int, metrics: Metrics)] = []

    init(_ run: FunctionRun, _ budget: Budget?, _ seed: UInt64) throws {
        stage = try OperatorStage(run: run, budget: budget, seed: seed)
    }

    func compareNext() throws {
        guard let made = next.take() else { return }
        let index = made.index
        let (finding, plan) = try stage.finding(made)
        findings.append(finding)
        if let plan { plans.append((index, plan)) }
    }
}

/// The runs of the model beside that of the package.
struct Sides {
    /// With its original weights; nil if nothing is compared with it.
    let original: FollowingReference?
    /// With the stored weights; the same run where no weight has lost anything; nil if nothing is compared with it.
    let stored: FollowingReference?

    init(_ run: FunctionRun, _ stages: Set<Stage>) {
        guard let frozen = run.frozen else {
            (original, stored) = (nil, nil)
            return
        }
        let isLossy = run.isLossy
        let labels = stages.contains(.operators) ? Set(run.function.calls.map(\.label)) : []
        let needsOriginal = !stages.isDisjoint(
            with: isLossy ? [.operators, .outputs] : [.operators, .outputs, .graph])
        original =
            needsOriginal
            ? FollowingReference(of: frozen, run.feed, keeping: labels, constant: FunctionRun.originalOperand) : nil
        // The outputs of a lossy function are held to the loss of its reference.
        let needsStored = stages.contains(.graph) || isLossy && stages.contains(.outputs)
        stored =
            !needsStored
            ? nil
            : isLossy
                ? FollowingReference(of: run.rounded ?? frozen, run.feed, constant: run.storedOperand) : original
    }

    /// Each run once.
    var all: [FollowingReference] {
        [original, stored === original ? nil : stored].compactMap(\.self)
    }
}

/// The outputs of a run that are compared one by one, as their values arrive.
private struct OutputComparison {
    let run: FunctionRun
    let stages: Set<Stage>
    let budget: Budget?
    /// The package's results that have not been compared yet, by name.
    var actual: [String: HostTensor] = [:]
    /// By the result's name.
    private var findings: [String: OutputFindings] = [:]
    private var compared: Set<String> = []

    init(run: FunctionRun, stages: Set<Stage>, budget: Budget?) {
        (self.run, self.stages, self.budget) = (run, stages, budget)
    }

    /// Compares the results that all sides have.
    /// - Parameter isLast: all results have been made; those that a side does not have are reported.
    mutating func compareResults(_ sides: Sides, isLast: Bool = false) {
        guard !stages.isDisjoint(with: [.graph, .outputs]) else {
            actual = [:]
            run.results.forEach { port in sides.all.forEach { $0.drop(port.name) } }
            return
        }
        for port in run.results where isLast || actual[port.name] != nil {
            let name = port.name
            guard isLast || sides.all.allSatisfy({ $0.results[name] != nil }), compared.insert(name).inserted else {
                continue
            }
            run.compare(
                name, in: stages, budget, found: actual[name], original: sides.original?.results[name],
                stored: sides.stored?.results[name], &findings[name, default: OutputFindings()])
            actual[name] = nil
            sides.all.forEach { $0.drop(name) }
        }
    }

    /// All findings: those of S3 in the order of the results, then those of S4; with a golden, the comparisons with it
    /// come first.
    var result: OutputFindings {
        var result = OutputFindings()
        let all = run.results.compactMap { findings[$0.name] }.reduce(into: OutputFindings()) { $0 += $1 }
        for stage in [Stage.graph, .outputs] where stages.contains(stage) {
            let rows = all.outputs.filter { $0.stage == stage }
            result.outputs += rows.filter { $0.reference == .golden } + rows.filter { $0.reference != .golden }
            result.notCompared += all.notCompared.filter { $0.stage == stage }
            for port in run.frozen == nil ? [] : run.surplus {
                result.skip(stage, run.name(ofResult: port.name), "the model has no such output", isRequired: true)
            }
        }
        return result
    }
}

extension FunctionRun {
    /// Compares an output or state.
    func compare(
        _ name: String, in stages: Set<Stage>, _ budget: Budget?, found: HostTensor?, original: HostTensor?,
        stored: HostTensor?, _ result: inout OutputFindings
    ) {
        let (role, first) = (interface.outputs[name], result.outputs.count)
        let value = ComparedValue(
            function: function.name, title: name + suffix, role: role, positions: positions, found: found, graph: found,
            original: original, stored: stored, golden: golden?.output(name, as: role))
        let limits = ComparedValue.Limits(
            graph: rounding, golden: golden?.tolerance(for: name) ?? .unstatedNoise,
            outputs: { expected, strict in
                budget?.tolerance(forOutput: name) ?? tolerance(stored, against: expected, strict: strict)
            }, checksModel: true,
            unexpected: golden == nil
                ? ("the model gave none", true) : ("the golden has no out.\(name)\(suffix)", false))
        value.compare(in: stages, limits, &result)
        guard role?.kind == .logits, let labels = golden?.labels, let found, let expected = value.golden else { return }
        for index in result.outputs.indices[first...] where result.outputs[index].reference == .golden {
            result.outputs[index].labels = LabelScore(found.floats, original: expected.floats, labels: labels)
        }
    }
}
