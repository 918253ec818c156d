import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The setup of the trials: the program, its model, and the outputs of a correct run of the first function.
struct SelfTestBench {
    private let program: ModelPlan
    private let model: ReferenceModel
    private let threads: Int
    private let stage: WeightStage
    private let lossy: Set<String>
    /// The index of the function that runs: the first that the model has.
    private let function: Int
    private let feed: FunctionFeed
    private let seed: UInt64
    private let storedOutputs: [String: HostTensor]
    /// The noise of float32 arithmetic in these outputs.
    private let noise: [String: Metrics]
    /// The outputs of the package itself.
    private let outputs: [String: HostTensor]
    /// The number of calls at which a fault of the plan is tried before it counts as not applicable.
    private static let candidates = 32

    init(_ program: ModelPlan, model: ReferenceModel, seed: UInt64, threads: Int) throws {
        self.program = program
        self.model = model
        self.threads = threads
        stage = WeightStage(program: program, model: model, budget: nil, threads: threads)
        lossy = Set(try stage.run().weights.filter { !$0.metrics.isExact }.map(\.name))
        let drawn = DrawnInputs(program, model.functions, seed: seed, PackageRunner(program, threads: threads))
        guard let function = model.functions.firstIndex(where: { $0 != nil }), let frozen = model.functions[function],
            let feed = try drawn.feed(for: function)
        else {
            throw RequestError(
                "the model has no function of the package; there is nothing to test", status: .unavailable)
        }
        self.function = function
        self.feed = feed
        self.seed = seed
        let run = PackageSides(program, model, lossy: lossy, threads: threads).run(function, feed)
        outputs = try run.runner.run(function, feed)
        storedOutputs = try run.ofGraph.results(of: run.ofGraph.frozen ?? frozen, with: run.storedOperand)
        noise = try NoiseMeasurement(of: run.ofGraph, seed: seed).results
    }

    /// The control: the unchanged package. A failure of a stage is a false alarm.
    /// - Parameter differences: the differences of the package's structure.
    func control(_ differences: [StructureFinding.Difference]) throws -> SelfTestReport.Trial {
        var caught: [Stage: String] = [:]
        caught[.structure] = differences.first.map { "\($0.name): \($0.reason)" }
        let result = try stage.run()
        if let reason = result.misfits.first ?? result.weights.lazy.compactMap(\.failure).first {
            caught[.weights] = reason
        }
        caught.merge(try runtimeFailures(for: program, operators: true)) { first, _ in first }
        return .init(
            fault: "none", detail: "the package as it is", target: "", claimed: nil,
            stages: [.structure, .weights, .operators, .graph], caught: caught)
    }

    func trial(of fault: WeightFault, on target: CompressedTensor) throws -> SelfTestReport.Trial {
        let name = "\(target.name) (\(target.codec.specification))"
        func trial(_ caught: [Stage: String]?) -> SelfTestReport.Trial {
            .init(
                fault: fault.name, detail: fault.detail, target: name, claimed: .weights, stages: [.weights, .graph],
                caught: caught)
        }
        guard
            let changed = try fault.inject(StoredBytes(target), program.weights)?.map({ try $0.tensor() }
            ),
            changed.contains(where: differs)
        else { return trial(nil) }
        var faulty = program
        for (index, weight) in program.weights.enumerated() {
            let name = weight.name
            guard let other = changed.first(where: { $0.name == name || $0.name == name + ".renamed" }) else {
                continue
            }
            faulty.weights[index] = other
        }
        let tampered = WeightStage(program: faulty, model: model, budget: nil, threads: threads)
        var caught: [Stage: String] = [:]
        caught[.weights] =
            try tampered.misfits().first ?? changed.lazy.compactMap { try tampered.finding($0)?.finding.failure }.first
        caught.merge(try runtimeFailures(for: faulty, operators: false)) { first, _ in first }
        return trial(caught)
    }

    /// Returns whether a weight decodes to other values than the program's own, or has another name.
    private func differs(_ changed: CompressedTensor) -> Bool {
        guard let own = program.weights.first(where: { $0.name == changed.name }) else { return true }
        return !zip(own.floats(), changed.floats()).allSatisfy { $0.bitPattern == $1.bitPattern }
    }

    func trial(of fault: PlanFault) throws -> SelfTestReport.Trial {
        let own = program.functions[function]
        var caught: [Stage: String]?
        for changed in fault.inject(own, program.weights).prefix(Self.candidates) {
            var faulty = program
            faulty.functions[function] = changed
            // Calls that run as one must not read what others of them write, which the changed ones may.
            faulty.functions[function].joined = []
            guard try PackageRunner(faulty, threads: threads).run(function, feed) != outputs else { continue }
            caught = try runtimeFailures(for: faulty, operators: true)
            break
        }
        return .init(
            fault: fault.name, detail: fault.detail, target: own.name, claimed: .operators,
            stages: [.operators, .graph],
            caught: caught)
    }

    func trial(of fault: KernelFault) throws -> SelfTestReport.Trial {
        let own = program.functions[function]
        let isApplicable = own.calls.contains { fault.applies($0.operation) }
        return .init(
            fault: fault.name, detail: fault.detail, target: own.name, claimed: .operators, stages: [.operators],
            caught: isApplicable ? try runtimeFailures(for: program, operators: true, fault: fault) : nil)
    }

    /// Returns the failures of S2 and S3.
    private func runtimeFailures(
        for program: ModelPlan, operators: Bool, fault: KernelFault? = nil
    ) throws -> [Stage: String] {
        let run = PackageSides(program, model, lossy: lossy, threads: threads, fault: fault).run(function, feed)
        var caught: [Stage: String] = [:]
        if operators {
            let findings = try RunComparison(run: run, stages: [.operators], budget: nil, seed: seed).result().operators
            caught[.operators] = findings.lazy.compactMap { row in row.failure.map { "\(row.label): \($0)" } }.first
        }
        let graph = run.ofGraph
        let actual = try graph.runner.run(function, feed)
        var findings = OutputFindings()
        for name in graph.results.map(\.name) {
            graph.compare(
                name, in: [.graph], nil, found: actual[name], original: nil, stored: storedOutputs[name], &findings)
        }
        let rows = findings.outputs.map { $0.allowing(noise[$0.name]) }
        caught[.graph] = rows.lazy.compactMap { row in row.failure.map { "\(row.name): \($0)" } }.first
        return caught
    }
}
