import AccelPrograms
import AccelTensors

/// A run of a model's reference implementation that follows the calls of a package's run, so that each value is
/// compared as soon as both sides have it, and need not be kept.
final class FollowingReference {
    private var run: ReferenceRun
    private let feed: FunctionFeed
    private let constant: (Program.Constant) throws -> ReferenceOperand
    private let noise: RoundingNoise?
    private let outputs: Set<String>
    /// The labels of nodes that have not run.
    private var coming: Set<String>
    /// The labels whose values are kept until `values` returns them.
    private let kept: Set<String>
    private var values: [String: [HostTensor]] = [:]
    /// The results of the function that have been made, by name, until they are taken.
    private(set) var results: [String: HostTensor] = [:]

    /// - Parameters:
    ///   - kept: the labels of the nodes whose values `values(of:)` is called for.
    ///   - noise: the errors of each result; nil for a run without errors.
    ///   - constant: returns the weights and tables of this run.
    init(
        of function: FrozenProgram, _ feed: FunctionFeed, keeping kept: Set<String> = [],
        noise: RoundingNoise? = nil,
        constant: @escaping (Program.Constant) throws -> ReferenceOperand
    ) {
        run = ReferenceRun(of: function, feed.inputs)
        (self.feed, self.kept, self.constant, self.noise) = (feed, kept, constant, noise)
        coming = Set(function.program.nodes.map(\.label))
        outputs = Set(function.program.outputs.map(\.name))
    }

    /// Runs all nodes up to the one of this label; none if it has run, or does not exist.
    func advance(to label: String) throws {
        while coming.contains(label), try step() {}
    }

    /// Returns the values of the node of this label, once; nil if the model has no such node.
    func values(of label: String) throws -> [HostTensor]? {
        try advance(to: label)
        return values.removeValue(forKey: label)
    }

    /// Runs the remaining nodes.
    func finish() throws {
        while try step() {}
    }

    func drop(_ name: String) { results[name] = nil }

    /// - Returns: false if there is no further node.
    private func step() throws -> Bool {
        let made = try run.next(
            initial: feed.state, constant: constant, evaluate: RoundingNoise.evaluation(noise)
        ) { result, tensor in
            switch result {
            case .output(let name): results[name] = tensor
            // An output of the same name is compared in its place.
            case .state(let name): if !outputs.contains(name) { results[name] = tensor.wideningRows() }
            }
        }
        guard let made else { return false }
        coming.remove(made.node.label)
        if kept.contains(made.node.label) { values[made.node.label] = made.outputs }
        return true
    }
}
