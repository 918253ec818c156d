import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// S2: every kernel call of a function on the reference's inputs, and in the real run.
struct OperatorStage {
    let run: FunctionRun
    let budget: Budget?

    /// Compares all calls. The model runs several times if its intermediate results do not fit into memory at once.
    /// - Parameter byteLimit: the bytes that they may take together; a single call's may take more.
    /// - Returns: The findings, and the model's outputs with its original weights.
    func findings(
        of frozen: FrozenProgram, keepingUpTo byteLimit: Int
    ) throws -> (findings: [OperatorFinding], outputs: [String: HostTensor]) {
        let plan = try ReferencePlan(run.function, run.feed, weight: originalWeight)
        var (findings, outputs): ([OperatorFinding], [String: HostTensor]) = ([], [:])
        for calls in windows(of: byteLimit) {
            let values = try run.originalValues(of: frozen, keeping: run.function.calls[calls])
            findings += try self.findings(of: calls, plan, against: values)
            outputs = values.outputs
        }
        return (findings, outputs)
    }

    /// - Parameter reference: the model's values with the original weights, of all calls.
    func findings(against reference: ReferenceValues) throws -> [OperatorFinding] {
        let plan = try ReferencePlan(run.function, run.feed, weight: originalWeight)
        return try findings(of: run.function.calls.indices, plan, against: reference)
    }

    /// Returns all calls in ranges whose results take at most `byteLimit` bytes together; one empty range if there are
    /// no calls.
    func windows(of byteLimit: Int) -> [Range<Int>] {
        var windows = [0..<0]
        var kept = 0
        for (index, call) in run.function.calls.enumerated() {
            let bytes = call.outputs.reduce(0) { $0 + $1.shape.count * $1.elementType.byteCount }
            if kept > 0, kept + bytes > byteLimit {
                windows.append(index..<index)
                kept = 0
            }
            kept += bytes
            windows[windows.count - 1] = windows[windows.count - 1].lowerBound..<index + 1
        }
        return windows
    }

    /// - Parameter plan: a plan that has run the calls before these.
    private func findings(
        of calls: Range<Int>, _ plan: ReferencePlan, against reference: ReferenceValues
    ) throws -> [OperatorFinding] {
        var findings = try isolated(calls, plan, against: reference)
        _ = try run.runner.run(run.index, run.feed) { call, results in
            guard calls.contains(call), let expected = reference.byLabel[findings[call - calls.lowerBound].label] else {
                return
            }
            let metrics = Metrics(results, against: expected).summarized
            let index = call - calls.lowerBound
            findings[index].propagated = metrics
            if findings[index].failure == nil {
                findings[index].failure = budget?.rule(forOperator: findings[index].label)?.propagated?
                    .failureReason(for: metrics).map { "propagated: \($0)" }
            }
        }
        return findings
    }

    /// Compares each call alone: the reference implementation runs the execution plan with the original weights, and
    /// the kernel gets the same inputs.
    private func isolated(
        _ calls: Range<Int>, _ original: ReferencePlan, against reference: ReferenceValues
    ) throws -> [OperatorFinding] {
        return try calls.map { index in
            let call = run.function.calls[index]
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
        if let failureReason = plan.flatMap(gate.failureReason) {
            return "the plan does not compute the model's node: \(failureReason)"
        }
        if let failureReason = gate.failureReason(for: kernel) { return "kernel: \(failureReason)" }
        return budget?.rule(forOperator: call.label)?.injected?.failureReason(for: injected).map { "injected: \($0)" }
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
    private func originalWeight(_ index: Int) throws -> HostTensor {
        let weights = run.stored.tensors
        if weights.indices.contains(index), run.lossy.contains(weights[index].name),
            let source = run.frozen?.program.constants.first(where: { $0.name == weights[index].name })
        {
            return try HostTensor(source.requireTensor())
        }
        return try run.stored.tensor(at: index)
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
