import AccelByteIO
import AccelTensors

/// The outputs of a run, by name.
public struct Outputs: Sendable {
    /// The tensors by name.
    public let tensors: [String: AccelTensor]
    /// The function that made them, e.g. `model[batch=1,sequence=128]`.
    public let function: String

    init(_ tensors: [String: StoredTensor], of function: String) {
        self.tensors = tensors.mapValues(AccelTensor.init)
        self.function = function
    }

    /// The names, sorted.
    public var names: [String] { tensors.keys.sorted() }

    /// An output.
    /// - Throws: `AccelError` (not found) with the names that there are.
    public subscript(_ name: String) -> AccelTensor {
        get throws(AccelError) {
            if let tensor = tensors[name] { return tensor }
            throw AccelError(
                .notFound, "there is no such output; there is: \(names.joined(separator: ", "))",
                at: "\(function), output \"\(name)\"", hint: AccelError.suggestion(for: name, among: names))
        }
    }
}

/// The options of a run: its time limit, and the outputs to return.
public struct RunOptions: Sendable {
    /// The time for a run, waiting for memory included; nil for no limit.
    public var timeLimit: Duration?
    /// The names of the outputs to return; nil for all.
    public var outputs: Set<String>?

    /// Ends the run as a cancelled task does; is asked before each piece of work. nil if nothing else ends it.
    package var isCancelled: (@Sendable () -> Bool)?

    /// The condition that ends the run early; nil if there is none.
    var cancellation: Cancellation? {
        timeLimit == nil && isCancelled == nil ? nil : Cancellation(after: timeLimit, or: isCancelled)
    }

    /// Options of a run.
    public init(timeLimit: Duration? = nil, outputs: Set<String>? = nil) {
        (self.timeLimit, self.outputs) = (timeLimit, outputs)
    }
}
