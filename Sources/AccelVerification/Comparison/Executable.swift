import AccelPrograms
import AccelTensors

/// The subject of a comparison, which runs calls of functions that share states: a package (`PackageExecutable`), a Core ML package
/// (`CoreMLExecutable`), or an export that the runtime of another project has run (`RuntimeExecutable`).
protocol Executable {
    /// The numbers of the calls, in their order.
    var calls: Range<Int> { get }
    /// Returns the random errors of each run of the model that measures noise; of the same seed they are equal.
    func noises(seed: UInt64) -> [RoundingNoise]
    /// Returns a call under the model's names, with the sides of its function.
    func call(_ number: Int) throws -> (FeedCall, ComparedFunction)
    /// Runs a call, from the states that the one before has left.
    func run(_ number: Int) throws -> ExecutedCall
}

/// The results of a call by name: its outputs, and the content of the states after it.
typealias CallResults = (outputs: [String: HostTensor], states: [String: HostTensor])

/// The results that a subject gives for a call, under the names of the comparison.
struct ExecutedCall {
    var results: CallResults
    /// The results with all activations in float32; nil if they are the same.
    var graph: CallResults?
    /// The outputs and states that the model does not have, by their names in reports.
    var surplus: [String] = []
    /// Returns why a result is missing, and whether that is a failure; nil if it is one in each stage.
    var missing: ((String) -> (reason: String, isRequired: Bool)?)?
}
