import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// S2: each kernel call of a function on the reference's inputs, one after the other. The reference implementation runs
/// the execution plan with the original weights, and the kernel gets the same inputs.
struct OperatorStage {
    private let run: FunctionRun
    private let budget: Budget?
    private let sampling: SampledRows
    private let plan: ReferencePlan
    private let sources: [String: Program.Constant]
    private let noise: RoundingNoise

    /// - Parameter seed: of the rows of large weights that are compared, and of the errors that measure noise.
    init(run: FunctionRun, budget: Budget?, seed: UInt64) throws {
        noise = RoundingNoise(arithmetic: .float32, seed: seed)
        (self.run, self.budget) = (run, budget)
        sampling = SampledRows(seed: seed)
        plan = try ReferencePlan(run.function, run.feed)
        sources = Dictionary((run.frozen?.program.constants ?? []).map { ($0.name, $0) }) { first, _ in first }
    }

    /// Expected results of a call: of the model, and of the kernel, which reads the stored weights.
    private struct Expected {
        /// The results with the original weights. The next calls read them.
        let original: [HostTensor]
        /// The results with the stored weights, to compare the kernel's with; some rows of the weight only, if `rows` is not nil.
        let stored: [HostTensor]
        /// The execution plan against the model; nil if the model has no such node.
        let plan: Metrics?
        let rows: [Int]?
    }

    /// The results of a call that the runs beside this stage have made.
    struct Made {
        /// The call.
        let index: Int
        /// The values of the model's node, with the original weights; nil if it has no such node.
        let reference: [HostTensor]?
        /// The call's results in the package's own run; empty if there is nothing to compare them with.
        let found: [HostTensor]
    }

    /// Compares a call; all before it have been compared.
    /// - Returns: the finding, and the execution plan against the model where the two differ by more than arithmetic usually does.
    func finding(_ made: consuming Made) throws -> (finding: OperatorFinding, plan: Metrics?) {
        // Errors of rows of codes are those of their values. The bytes themselves, which are compared below, have none.
        func widened(_ tensors: [HostTensor]) -> [HostTensor] { tensors.map { $0.wideningRows() } }
        let (index, reference) = (made.index, made.reference)
        let call = run.function.calls[index]
        // First, so that these results are gone before there are others.
        let propagated = reference.map { Metrics(widened(made.found), against: widened($0)).summarized }
        _ = consume made
        try plan.prepare(index)
        let operands = try plan.operands(of: call, weight: originalWeight)
        let expected = try sampled(call, operands, reference) ?? whole(call, operands, reference)
        let inputs = zip(call.inputs, operands).map { input, operand in
            // The kernel reads its own weights.
            if case .weight = input.storage { HostTensor([Float](), [0]) } else { operand.tensor }
        }
        let results = try run.runner.results(of: index, in: run.index, inputs: inputs)
        let compared = expected.rows.map { rows in results.map { $0.choosing(rows) } } ?? results
        let kernel = Metrics(compared, against: expected.stored).summarized
        let injected = Metrics(widened(results), against: widened(expected.original)).summarized
        let isExact = call.outputs.allSatisfy { $0.elementType != .float32 }
        var gate = isExact ? Tolerance.exact(origin: "integers are exact") : .rounding
        if !isExact, gate.failureReason(for: kernel) != nil { gate = gate.allowing(try noise(of: call, expected)) }
        // Only now, since the results may take the memory of the operands.
        try plan.store(expected.original, of: call, at: index)
        var finding = OperatorFinding(
            function: run.function.name, label: call.label, kind: call.operation.name,
            shape: call.outputs.first?.shape ?? [], sampledRows: expected.rows?.count, kernel: kernel,
            injected: injected, propagated: propagated,
            failure: failure(kernel, injected, propagated, gate, call))
        guard let plan = expected.plan, let reason = (isExact ? gate : .rounding).failureReason(for: plan) else {
            return (finding, nil)
        }
        if !isExact, plan.sqnr >= RoundingNoise.mostNoise { return (finding, plan) }
        finding.failure = "the plan does not compute the model's node: \(reason)"
        return (finding, nil)
    }

    /// Measures the noise of a call's results: its reference on inputs with errors, with errors in its results.
    private func noise(of call: KernelCall, _ expected: Expected) throws -> Metrics {
        let results = try noise.evaluate(call.operation, call.label, storedOperands(of: call), rows: expected.rows)
        return Metrics(results, against: expected.stored)
    }

    private func whole(
        _ call: KernelCall, _ operands: [ReferenceOperand], _ reference: [HostTensor]?
    ) throws -> Expected {
        let original = try call.operation.evaluate(operands: operands)
        let stored = try readsLossy(call) ? call.operation.evaluate(operands: storedOperands(of: call)) : original
        return Expected(
            original: original, stored: stored, plan: reference.map { Metrics(original, against: $0) }, rows: nil)
    }

    /// Computes only some rows of a product with a large weight. Where the execution plan agrees with the model's node
    /// there, the next calls go on with the values of the node.
    /// - Returns: nil for another call, or one that the model has no node of.
    private func sampled(
        _ call: KernelCall, _ operands: [ReferenceOperand], _ reference: [HostTensor]?
    ) throws -> Expected? {
        guard let linear = call.operation as? Linear, let reference, reference.count == 1,
            reference[0].shape == call.outputs.first?.shape, case .rows(let weight) = operands[1],
            let rows = sampling.rows(of: call.label, weight: weight.shape)
        else { return nil }
        let original = try linear.evaluate(operands, rows: rows)
        let stored = try readsLossy(call) ? linear.evaluate(storedOperands(of: call), rows: rows) : original
        return Expected(
            original: reference, stored: [stored], plan: Metrics([original], against: [reference[0].choosing(rows)]),
            rows: rows)
    }

    private func storedOperands(of call: KernelCall) throws -> [ReferenceOperand] {
        try plan.operands(of: call, weight: run.stored.operand)
    }

    private func failure(
        _ kernel: Metrics, _ injected: Metrics, _ propagated: Metrics?, _ gate: Tolerance, _ call: KernelCall
    ) -> String? {
        if let failureReason = gate.failureReason(for: kernel) { return "kernel: \(failureReason)" }
        let rule = budget?.rule(forOperator: call.label)
        if let reason = rule?.injected?.failureReason(for: injected) { return "injected: \(reason)" }
        return propagated.flatMap { rule?.propagated?.failureReason(for: $0) }.map { "propagated: \($0)" }
    }

    private func readsLossy(_ call: KernelCall) -> Bool {
        call.inputs.contains { operand in
            guard case .weight(let index) = operand.storage, run.stored.tensors.indices.contains(index) else {
                return false
            }
            return run.lossy.contains(run.stored.tensors[index].name)
        }
    }

    /// Returns the checkpoint's tensor of a stored weight's name; tables are the package's own.
    private func originalWeight(_ index: Int) throws -> ReferenceOperand {
        let weights = run.stored.tensors
        if weights.indices.contains(index), run.lossy.contains(weights[index].name),
            let source = sources[weights[index].name]
        {
            return try FunctionRun.originalOperand(of: source)
        }
        return try run.stored.operand(at: index)
    }
}

extension Metrics {
    /// Creates the metrics of all results of a node together.
    init(_ results: [HostTensor], against reference: [HostTensor]) {
        self.init()
        for (result, expected) in zip(results, reference) {
            guard result.shape.count == expected.shape.count else { continue }
            merge(Metrics(result.floats, against: expected.floats))
        }
    }
}
