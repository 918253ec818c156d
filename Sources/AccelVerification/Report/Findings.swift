import AccelByteIO
public import AccelTensors

/// The comparison of one stored tensor with the checkpoint's.
public struct WeightFinding: Sendable {
    /// The tensor's name in the checkpoint.
    public let name: String
    /// The decoded tensor's shape.
    public let shape: Shape
    /// The codec with its options, e.g. `palette:bits=4,group=16`.
    public let codec: String
    /// The stored bytes, tables included.
    public internal(set) var byteCount: Int
    /// The tensor's bytes in the checkpoint.
    public let sourceByteCount: Int
    /// The tensor was made by the tool and is not in the checkpoint.
    public let isTable: Bool
    /// The decoded tensor against the checkpoint's.
    public let metrics: Metrics
    /// The limits of the comparison.
    public let tolerance: Tolerance
    /// The error bounds of its rows; nil if all its bytes were compared instead.
    var bound: RowBound.Finding?
    /// The reason for a failure; nil if it passes.
    public let failure: String?
    /// The weight is not the checkpoint's in its scheme, whatever a budget allows.
    var isWrong = false

    /// Stored bits for each element, tables included; 0 for an empty tensor.
    public var bitsPerWeight: Double { shape.count == 0 ? 0 : Double(byteCount * 8) / Double(shape.count) }
}

/// The comparison of one kernel call.
public struct OperatorFinding: Sendable {
    /// The function's name.
    public let function: String
    /// The node's label; a fused call has the label of the last node in it.
    public let label: String
    /// The operator's name.
    public let kind: String
    /// The shape of the call's first output.
    public let shape: Shape
    /// The number of rows of a large weight on which the kernel was compared; nil if its whole result was.
    public let sampledRows: Int?
    /// The kernel against the operator's reference implementation, on the same inputs and the same stored weights.
    public let kernel: Metrics
    /// The kernel on the reference's inputs against the reference with the original weights: the error that this call
    /// adds.
    public let injected: Metrics
    /// The call in the real run against the reference: the error accumulated up to this call. nil if the model has no
    /// node of this label, such as a copy that the execution plan added.
    public var propagated: Metrics?
    /// The first gate that it fails; nil if it passes.
    public var failure: String?
}

/// The comparison of one output of one function.
public struct OutputFinding: Sendable {
    /// The source of the expected values.
    public enum Reference: String, Sendable {
        /// The reference implementation of the model with the stored weights.
        case storedWeights = "stored weights"
        /// The reference implementation of the model with its original weights.
        case originalWeights = "original weights"
        /// A golden file.
        case golden
        /// A golden file. The compared side is the reference implementation with the original weights, not the package.
        case modelAgainstGolden = "model against golden"
        /// The values recorded from a Core ML package. The compared side was computed elsewhere.
        case recorded
    }
    /// The stage that compared the output: `graph` or `outputs`.
    public let stage: Stage
    /// The function's name.
    public let function: String
    /// The name of the output or state, with the suffix of the golden's sample if there is one.
    public let name: String
    /// The output's shape.
    public let shape: Shape
    /// The source of the expected values.
    public let reference: Reference
    /// The output against the expected values.
    public let metrics: Metrics
    /// The accuracy against the golden's labels; nil if it has none.
    public var labels: LabelScore?
    /// The metrics leave out the positions that an attention mask hides.
    let leavesPaddingOut: Bool
    /// The limits of the comparison.
    public internal(set) var tolerance: Tolerance
    /// The exceeded limit; nil if the output passes.
    public internal(set) var failure: String?
}

/// An item that a stage was asked to compare and could not. It never counts as passed.
public struct NotCompared: Equatable, Sendable {
    /// The stage that would have compared the item.
    public let stage: Stage
    /// The item: an output, a state or an input, with its function's name.
    public let name: String
    /// Why it was not compared, as a sentence without a full stop.
    public internal(set) var reason: String
    /// The item is an output or state of the model or the package, so that leaving it out is a failure unless the
    /// budget allows it. Items that only a golden file has, or lacks, are not required.
    public internal(set) var isRequired = false
    /// The item is required, but the budget allows the gap.
    public internal(set) var isAllowed = false
}

/// The outputs of a function together against the original model or a golden, without its states: the figure that a conversion chooses
/// schemes by.
public struct TogetherFinding: Sendable {
    /// The function's name.
    public let function: String
    /// The number of outputs.
    public let outputs: Int
    /// In dB, by the mean of the outputs' relative squared errors; infinite if nothing is lost.
    public let sqnr: Double
}

/// A limit of the budget or of a device's profile on a figure of the whole package: a size, memory, speed, or quality on a text.
public struct LimitFinding: Sendable {
    /// e.g. `bits per weight`
    public let what: String
    /// The limit is the least value that is allowed.
    public let isLeast: Bool
    /// The package's value, in the unit of `what`.
    public let value: Double
    /// The largest value that is allowed, or the least one: see `isLeast`.
    public let limit: Double
    /// The origin of the limit, e.g. `the profile phone`.
    public let origin: String
    /// The function that has the value; nil for the package as a whole.
    let place: String?
    /// The runs that a speed was measured by, and their spread; nil for sizes.
    let measured: SpeedFigure?

    static let budget = "the budget"

    init(
        _ resource: Resource, value: Double, limit: Double, origin: String = Self.budget, at place: String? = nil,
        measured: SpeedFigure? = nil
    ) {
        self.init(
            resource.rawValue, isLeast: resource.isLeast, value: value, limit: limit, origin: origin, at: place,
            measured: measured)
    }

    init(
        _ what: String, isLeast: Bool, value: Double, limit: Double, origin: String, at place: String? = nil,
        measured: SpeedFigure? = nil
    ) {
        (self.what, self.isLeast, self.value, self.limit, self.origin) = (what, isLeast, value, limit, origin)
        (self.place, self.measured) = (place, measured)
    }

    /// The exceeded limit; nil if it is kept. A limit of the speed is exceeded only if no round of the measurement keeps it.
    public var failure: String? {
        if isLeast ? value >= limit : value <= limit { return nil }
        return isWithinNoise ? nil : words(isLeast ? "<" : ">")
    }

    /// e.g. `bits per weight 4.110 <= 4.200 of the budget`
    var summary: String { failure ?? words(isLeast ? ">=" : "<=") }

    /// The limit lies between the measured value and the best round.
    private var isWithinNoise: Bool { measured.map { value < limit && $0.spread.upperBound >= limit } ?? false }

    private func words(_ relation: String) -> String {
        let value =
            isWithinNoise
            ? "\(figure(value)), with noise up to \(figure(measured?.spread.upperBound ?? value)),"
            : figure(value)
        let place = place.map { " (least: \($0))" } ?? ""
        return "\(what)\(place) \(value) \(relation) \(figure(limit)) of \(origin)"
            + (measured.map { " (\($0.words))" } ?? "")
    }

    private func figure(_ value: Double) -> String {
        Int(exactly: value).map(Wording.grouped) ?? FigureText.fixed(value, digits: 3)
    }
}
