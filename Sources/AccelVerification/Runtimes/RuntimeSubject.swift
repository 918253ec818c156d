public import AccelFormats
import AccelPrograms

/// An exported model, run by a runtime of another project.
public struct RuntimeSubject: Sendable {
    /// The runtime.
    public let runtime: ModelRuntime
    let source: any ModelSource
    let driver: any RuntimeDriver

    /// Creates a subject; `driver` starts the runtime's program.
    public init(_ source: any ModelSource, runtime: ModelRuntime, driver: any RuntimeDriver) {
        (self.source, self.runtime, self.driver) = (source, runtime, driver)
    }

    /// The parts, ignored tensors and positions of logits that a Core AI model records; the defaults for formats of whole models.
    var madeOf: (parts: [String], ignoredTensors: [String], logits: LogitPositions) {
        guard let package = (source as? CoreAISource)?.package else { return ([], [], .all) }
        let parts = (try? package.functionShapes.map { String($0.shape.prefix { $0 != "[" }) }) ?? []
        let ignored = package.provenance[ExportedModel.ignoredTensorsKey] ?? ""
        return (
            Set(parts).sorted(), ignored.split(separator: "\n").map(String.init),
            package.provenance[ExportedModel.logitsKey].flatMap(LogitPositions.init) ?? .all
        )
    }
}

/// Starts the programs of runtimes.
public protocol RuntimeDriver: Sendable {
    /// Runs the program of a runtime on the request in a folder, to its end.
    /// - Parameter runs: the number of runs in the request, which its time depends on.
    /// - Returns: nil if it has ended well; else what happened, as a sentence without a full stop.
    /// - Throws: `RequestError` (unavailable) if the program, Python or the runtime is missing.
    func run(_ runtime: ModelRuntime, in folder: String, runs: Int) throws -> String?
}

/// The runtime of a report.
public struct RuntimeFinding: Sendable {
    /// The runtime with its version, as its program states them, e.g. `mlx 0.32.4`.
    public let name: String
    /// How it rounds activations, e.g. `in float32`.
    public let activations: String

    var words: String { "\(name), activations \(activations)" }
}
