public import AccelTensors

/// One stored tensor against the checkpoint's.
public struct WeightFinding: Sendable {
    public let name: String
    public let shape: Shape
    /// The codec with its options, e.g. `palette:bits=4,group=16`.
    public let codec: String
    /// Stored, tables included.
    public let byteCount: Int
    /// In the checkpoint.
    public let sourceByteCount: Int
    /// Made by the tool; not a tensor of the checkpoint.
    public let isTable: Bool
    public let metrics: Metrics
    public let tolerance: Tolerance
    /// What its rows lose; nil where they are not held to a bound, as all its bytes were compared.
    var bound: RowBound.Finding?
    /// Why it fails; nil when it passes.
    public let failure: String?

    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(byteCount * 8) / Double(shape.count) }
}

/// One kernel call.
public struct OperatorFinding: Sendable {
    public let function: String
    /// The node's label; a fused call has the label of the last node in it.
    public let label: String
    /// The operator's name.
    public let kind: String
    public let shape: Shape
    /// The kernel against the operator's reference meaning on the same inputs and the same stored weights.
    public let kernel: Metrics
    /// The kernel on the reference's inputs against the reference with the original weights: what this call adds.
    public let injected: Metrics
    /// The call in the real run against the reference: what has added up until here. nil where the model has no node of
    /// this label (a copy that the plan put in).
    public var propagated: Metrics?
    /// The first gate that it fails; nil when it passes.
    public var failure: String?
}

/// One output of one function.
public struct OutputFinding: Sendable {
    public enum Reference: String, Sendable {
        /// The reference meaning of the model with the weights as they are stored.
        case storedWeights = "stored weights"
        /// The reference meaning of the model with its original weights.
        case originalWeights = "original weights"
        /// A golden file.
        case golden
        /// The reference meaning with the original weights is what is compared; with a golden file.
        case modelAgainstGolden = "model against golden"
        /// What was recorded of a Core ML package; made elsewhere is what is compared.
        case recorded
    }
    public let stage: Stage
    public let function: String
    public let name: String
    public let shape: Shape
    public let reference: Reference
    public let metrics: Metrics
    /// Against a golden with labels: how many of them the output finds.
    public var labels: LabelScore?
    public let tolerance: Tolerance
    public let failure: String?
}

/// Something that a stage was to compare and could not. It never counts as passed.
public struct NotCompared: Equatable, Sendable {
    public let stage: Stage
    public let name: String
    public internal(set) var reason: String
    /// Something that the model gives, or the package in its place: that nobody has compared it is a failure, unless the
    /// budget names it. What only a golden file has more or less of is none.
    public internal(set) var isRequired = false
    /// It would be a failure but for the budget.
    public internal(set) var isAllowed = false
}

/// A limit that is about the package and not about one tensor.
public struct SizeFinding: Sendable {
    /// e.g. `bits per weight`
    public let what: String
    public let value: Double
    public let limit: Double
    public var failure: String? {
        value <= limit
            ? nil : "\(what) \(Figure.fixed(value, digits: 3)) > \(Figure.fixed(limit, digits: 3)) of the budget"
    }
}
