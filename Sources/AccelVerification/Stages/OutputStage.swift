import AccelByteIO
import AccelCPURuntime
import AccelPlatform
import AccelPrograms
import AccelTensors

/// S3 and S4: the outputs of whole functions.
struct OutputStage {
    let run: FunctionRun
    let budget: Budget?
    /// Outputs of the package's run by name.
    let actual: [String: HostTensor]

    struct Result {
        var outputs: [OutputFinding] = []
        var notCompared: [NotCompared] = []

        mutating func add(_ other: Result) {
            outputs += other.outputs
            notCompared += other.notCompared
        }
    }

    /// S3: compares with the reference implementation of the model with the stored weights.
    /// - Parameter ports: the results to compare.
    func graph(storedOutputs: [String: HostTensor], of ports: [FrozenProgram.Port]) -> Result {
        result(.graph, against: .storedWeights, storedOutputs, ports) { _ in run.rounding }
    }

    /// S4 without a golden: compares with the model with its original weights.
    /// - Parameter storedOutputs: of the model with the stored weights, and with the package's roundings.
    func outputs(
        originalOutputs: [String: HostTensor], storedOutputs: [String: HostTensor], of ports: [FrozenProgram.Port]
    ) -> Result {
        result(.outputs, against: .originalWeights, originalOutputs, ports) { name in
            budget?.tolerance(forOutput: name)
                ?? run.tolerance(storedOutputs[name], against: originalOutputs[name], strict: .rounding)
        }
    }

    /// S4 with a golden: compares the package with it, and the model's reference implementation with it. The second
    /// comparison separates a wrong import of the model from a wrong package.
    /// - Parameters:
    ///   - originalOutputs: empty without a model.
    ///   - storedOutputs: of the model with the stored weights, and with the package's roundings; empty without a model.
    func outputs(
        golden: Golden, originalOutputs: [String: HostTensor], storedOutputs: [String: HostTensor],
        of ports: [FrozenProgram.Port]
    ) -> Result {
        let expected = golden.outputs(as: run.interface.outputs)
        func strict(_ name: String) -> Tolerance { golden.tolerance(for: name) ?? .unstatedNoise }
        var result = result(.outputs, against: .golden, expected, ports) { name in
            budget?.tolerance(forOutput: name)
                ?? run.tolerance(storedOutputs[name], against: expected[name], strict: strict(name))
        }
        if let labels = golden.labels {
            for index in result.outputs.indices {
                let name = String(result.outputs[index].name.dropLast(run.suffix.count))
                guard run.interface.outputs[name]?.kind == .logits, let values = actual[name],
                    let original = expected[name]
                else { continue }
                result.outputs[index].labels = LabelScore(values.floats, original: original.floats, labels: labels)
            }
        }
        for port in ports {
            guard let reference = originalOutputs[port.name] else { continue }
            guard let expected = expected[port.name] else {
                // The golden has no such output, so the model gives the expected value.
                add(
                    port.name, against: .originalWeights, reference,
                    budget?.tolerance(forOutput: port.name)
                        ?? run.tolerance(
                            storedOutputs[port.name], against: originalOutputs[port.name], strict: .rounding),
                    .outputs, &result)
                continue
            }
            guard expected.shape == reference.shape else { continue }
            result.outputs.append(
                finding(.outputs, port.name, .modelAgainstGolden, reference, expected, strict(port.name)))
        }
        return result
    }

    private func result(
        _ stage: Stage, against reference: OutputFinding.Reference, _ expected: [String: HostTensor],
        _ ports: [FrozenProgram.Port], tolerance: (String) -> Tolerance
    ) -> Result {
        var result = Result()
        for port in ports {
            guard let wanted = expected[port.name] else {
                // With a model, the output is compared with the model's.
                if reference == .golden, run.frozen != nil { continue }
                let reason =
                    reference == .golden ? "the golden has no out.\(port.name)\(run.suffix)" : "the model gave none"
                skip(port.name, reason, stage, &result, isRequired: reference != .golden)
                continue
            }
            add(port.name, against: reference, wanted, tolerance(port.name), stage, &result)
        }
        return result
    }

    /// Reports the outputs that the package has and the model does not.
    static func surplus(of run: FunctionRun, in stage: Stage) -> Result {
        guard run.frozen != nil else { return Result() }
        return Result(
            notCompared: run.surplus.map {
                .init(
                    stage: stage, name: run.name(ofResult: $0.name), reason: "the model has no such output",
                    isRequired: true)
            })
    }

    private func skip(
        _ name: String, _ reason: String, _ stage: Stage, _ result: inout Result, isRequired: Bool
    ) {
        result.notCompared.append(
            .init(stage: stage, name: run.name(ofResult: name), reason: reason, isRequired: isRequired))
    }

    private func add(
        _ name: String, against reference: OutputFinding.Reference, _ wanted: HostTensor, _ tolerance: Tolerance,
        _ stage: Stage, _ result: inout Result
    ) {
        guard let values = actual[name] else {
            return skip(name, "the package gives no such output", stage, &result, isRequired: true)
        }
        guard values.shape == wanted.shape else {
            let reason = "the package gives \(values.shape), expected \(wanted.shape)"
            return skip(name, reason, stage, &result, isRequired: true)
        }
        result.outputs.append(finding(stage, name, reference, values, wanted, tolerance))
    }

    private func finding(
        _ stage: Stage, _ name: String, _ reference: OutputFinding.Reference, _ values: HostTensor,
        _ expected: HostTensor, _ tolerance: Tolerance
    ) -> OutputFinding {
        OutputFinding(
            stage, function: run.function.name, name: name + run.suffix, run.interface.outputs[name],
            against: reference, values, expected, tolerance, at: run.positions)
    }
}

extension OutputFinding {
    /// Returns the finding for this output and that of another sample together: as if they were one tensor, within the errors that
    /// both may have.
    func joining(_ other: OutputFinding) -> OutputFinding {
        var metrics = metrics
        metrics.merge(other.metrics)
        var tolerance = tolerance
        if let limit = tolerance.sqnr, let otherLimit = other.tolerance.sqnr, limit != otherLimit {
            if otherLimit < limit { tolerance.origin = other.tolerance.origin }
            let allowed = allowedError(limit) + other.allowedError(otherLimit)
            tolerance.sqnr = allowed > 0 ? 10 * log10(metrics.referenceEnergy / allowed) : max(limit, otherLimit)
        }
        return OutputFinding(
            stage: stage, function: function, name: name, shape: shape, reference: reference, metrics: metrics,
            labels: labels, leavesPaddingOut: leavesPaddingOut || other.leavesPaddingOut, tolerance: tolerance,
            failure: tolerance.failureReason(for: metrics))
    }

    /// The squared error that a limit in dB allows.
    private func allowedError(_ limit: Double) -> Double { metrics.referenceEnergy * pow(10, -limit / 10) }

    /// Compares two tensors of one shape.
    /// - Parameters:
    ///   - role: the role of the output; rows of logits are also compared by their largest element.
    ///   - positions: the positions of the run that count.
    init(
        _ stage: Stage, function: String, name: String, _ role: Role?, against reference: Reference,
        _ values: HostTensor, _ expected: HostTensor, _ tolerance: Tolerance, at positions: CountedPositions
    ) {
        let rowLength = role?.kind == .logits ? expected.shape.dimensions.last : nil
        let metrics = Metrics(
            positions.elements(of: values), against: positions.elements(of: expected), rowLength: rowLength)
        let limit = expected.elementType.isFloatingPoint ? tolerance : .exact(origin: "integers are exact")
        self.init(
            stage: stage, function: function, name: name, shape: expected.shape, reference: reference,
            metrics: metrics, leavesPaddingOut: positions.hidesElements(of: expected.shape), tolerance: limit,
            failure: limit.failureReason(for: metrics))
    }
}
