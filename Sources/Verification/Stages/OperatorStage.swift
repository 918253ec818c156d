import ByteIO
import Programs
import Tensors
import WeightCompression

/// S2: every kernel call of a function on the reference's inputs, and in the real run.
struct OperatorStage {
    let run: FunctionRun
    let budget: Budget?

    /// - Parameter reference: the model's values with the original weights.
    func findings(against reference: ReferenceValues) throws -> [OperatorFinding] {
        var findings = try isolated(against: reference)
        _ = try run.runner.run(run.index, run.feed) { call, results in
            guard findings.indices.contains(call), let expected = reference.byLabel[findings[call].label] else {
                return
            }
            let metrics = Metrics(results, against: expected).summarized
            findings[call].propagated = metrics
            if findings[call].failure == nil {
                findings[call].failure = budget?.rule(forOperator: findings[call].label)?.propagated?
                    .objection(to: metrics).map { "propagated: \($0)" }
            }
        }
        return findings
    }

    /// Each call alone: the plan is walked with original weights by the reference meaning, and the kernel gets the same
    /// inputs.
    private func isolated(against reference: ReferenceValues) throws -> [OperatorFinding] {
        let original = try ReferencePlan(run.function, run.feed, weight: originalWeight)
        return try run.function.calls.enumerated().map { index, call in
            let inputs = try original.inputs(of: call)
            let expected = try call.operation.evaluate(inputs)
            let expectedOfStored =
                readsLossy(call)
                ? try call.operation.evaluate(original.inputs(of: call, weight: run.stored.tensor)) : expected
            let results = try run.runner.results(of: index, in: run.index, inputs: inputs)
            try original.store(expected, of: call)

            let kernel = Metrics(results, against: expectedOfStored).summarized
            let injected = Metrics(results, against: expected).summarized
            let plan = reference.byLabel[call.label].map { Metrics(expected, against: $0) }
            return OperatorFinding(
                function: run.function.name, label: call.label, kind: call.operation.name,
                shape: call.outputs.first?.shape ?? [], kernel: kernel, injected: injected,
                failure: failure(kernel: kernel, injected: injected, plan: plan, call: call))
        }
    }

    private func failure(kernel: Metrics, injected: Metrics, plan: Metrics?, call: KernelCall) -> String? {
        let isExact = call.outputs.allSatisfy { $0.elementType != .float32 }
        let gate = isExact ? Tolerance.exact(origin: "integers are exact") : .rounding
        if let objection = plan.flatMap(gate.objection) {
            return "the plan does not compute the model's node: \(objection)"
        }
        if let objection = gate.objection(to: kernel) { return "kernel: \(objection)" }
        return budget?.rule(forOperator: call.label)?.injected?.objection(to: injected).map { "injected: \($0)" }
    }

    private func readsLossy(_ call: KernelCall) -> Bool {
        call.inputs.contains { operand in
            guard case .weight(let index) = operand.storage, run.stored.tensors.indices.contains(index) else {
                return false
            }
            return run.lossy.contains(run.stored.tensors[index].name)
        }
    }

    /// The checkpoint's tensor under a stored weight's name; tables are the package's own.
    private func originalWeight(_ index: Int) throws -> HostTensor {
        let weights = run.stored.tensors
        if weights.indices.contains(index), run.lossy.contains(weights[index].name),
            let source = run.frozen?.program.constants.first(where: { $0.tensor.name == weights[index].name })
        {
            return HostTensor(source.tensor)
        }
        return try run.stored.tensor(at: index)
    }
}

extension Metrics {
    /// All results of a node together.
    init(_ results: [HostTensor], against reference: [HostTensor]) {
        self.init()
        for (result, expected) in zip(results, reference) {
            guard result.shape.count == expected.shape.count else { continue }
            merge(Metrics(result.floats, against: expected.floats))
        }
    }
}
