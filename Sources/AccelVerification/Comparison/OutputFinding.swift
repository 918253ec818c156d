import AccelPlatform
import AccelPrograms
import AccelTensors

extension OutputFinding {
    /// Both compare the same output with the same reference.
    func isSame(as other: OutputFinding) -> Bool {
        (stage, function, name, reference) == (other.stage, other.function, other.name, other.reference)
    }

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
        let (values, expected) = positions.changes(values, expected) ?? (values, expected)
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
