import AccelPrograms
import AccelTensors

/// The findings on outputs and states, and the items that could not be compared.
struct OutputFindings {
    var outputs: [OutputFinding] = []
    var notCompared: [NotCompared] = []

    static func += (left: inout OutputFindings, right: OutputFindings) {
        left.outputs += right.outputs
        left.notCompared += right.notCompared
    }

    mutating func skip(_ stage: Stage, _ name: String, _ reason: String, isRequired: Bool) {
        notCompared.append(.init(stage: stage, name: name, reason: reason, isRequired: isRequired))
    }

    /// Widens the limits that are exceeded by measured noise.
    /// - Parameter noise: returns the noise of the row of an index.
    mutating func allow(_ noise: (Int) -> Metrics?) {
        for index in outputs.indices where outputs[index].isBeyondArithmetic {
            outputs[index] = outputs[index].allowing(noise(index))
        }
    }
}

/// The values of one output or state on the sides of a comparison.
struct ComparedValue {
    /// The function's name in reports.
    let function: String
    /// The name in reports.
    let title: String
    /// The role of an output; nil for a state.
    var role: Role?
    /// The positions that count.
    var positions = CountedPositions.all
    /// The value is a state that the model only reads: it is no result where neither side changes it.
    var isRead = false
    /// The subject's value; nil if it has none.
    var found: HostTensor?
    /// The subject's value for the graph stage: with all activations in float32.
    var graph: HostTensor?
    /// The model's value, with its own weights.
    var original: HostTensor?
    /// The model's value, with the stored weights.
    var stored: HostTensor?
    /// The golden's value.
    var golden: HostTensor?

    /// The limits of a value, and the words of its gaps.
    struct Limits {
        /// The subject in sentences.
        var subject = "the package"
        /// The limit against the model with the stored weights.
        var graph: Tolerance
        /// The limit against the golden for values that lose nothing.
        var golden: Tolerance
        /// Returns the limit against expected values.
        let outputs: (_ expected: HostTensor, _ strict: Tolerance) -> Tolerance
        /// The model is compared with the golden, too.
        var checksModel = false
        /// The gap of a value that neither a golden nor a model has; nil if it is none.
        var unexpected: (reason: String, isRequired: Bool)?
    }

    /// Compares the value in the graph stage, with a golden, or else with the model.
    func compare(in stages: Set<Stage>, _ limits: Limits, _ result: inout OutputFindings) {
        if stages.contains(.graph), let stored {
            add(.graph, .storedWeights, graph, stored, limits.graph, limits.subject, &result)
        }
        guard stages.contains(.outputs) else { return }
        if let golden {
            let limit = limits.outputs(golden, limits.golden)
            add(.outputs, .golden, found, golden, limit, limits.subject, &result)
            guard limits.checksModel, let original, original.shape == golden.shape else { return }
            add(.outputs, .modelAgainstGolden, original, golden, limits.golden, limits.subject, &result)
        } else if let original {
            let limit = limits.outputs(original, .rounding)
            add(.outputs, .originalWeights, found, original, limit, limits.subject, &result)
        } else if let gap = limits.unexpected {
            result.skip(.outputs, "\(function) \(title)", gap.reason, isRequired: gap.isRequired)
        }
    }

    /// Compares a value with an expected one.
    func add(
        _ stage: Stage, _ reference: OutputFinding.Reference, _ value: HostTensor?, _ expected: HostTensor,
        _ limit: @autoclosure () -> Tolerance, _ subject: String = "the package", isRequired: Bool = true,
        _ result: inout OutputFindings
    ) {
        guard let value else {
            return result.skip(
                stage, "\(function) \(title)", "\(subject) gives no such output", isRequired: isRequired)
        }
        guard value.shape == expected.shape else {
            let reason = "\(subject) gives \(value.shape), expected \(expected.shape)"
            return result.skip(stage, "\(function) \(title)", reason, isRequired: true)
        }
        if isRead, positions.changes(value, expected) == nil { return }
        result.outputs.append(
            OutputFinding(
                stage, function: function, name: title, role, against: reference, value, expected, limit(),
                at: positions))
    }
}
