import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// The noise of an arithmetic in the results of one run of a function: the reference with random errors against the
/// reference without. Both run node by node, so that memory holds the values of a few layers.
struct NoiseMeasurement {
    /// By the result's name.
    private(set) var results: [String: Metrics] = [:]
    /// By the node's label; those that were asked for.
    private(set) var nodes: [String: Metrics] = [:]

    /// - Parameters:
    ///   - labels: the nodes whose values are measured too.
    ///   - seed: of the errors.
    init(of run: FunctionRun, nodes labels: Set<String> = [], seed: UInt64) throws {
        guard let frozen = run.frozen else { return }
        let ports = frozen.results.filter(\.elementType.isFloatingPoint)
        for noise in RoundingNoise.runs(.float32, over: ports.map(\.shape), seed: seed) {
            let exact = FollowingReference(of: frozen, run.feed, keeping: labels, constant: run.storedOperand)
            let noisy = FollowingReference(
                of: frozen, run.feed, keeping: labels, noise: noise, constant: run.storedOperand)
            for label in frozen.program.nodes.map(\.label) {
                try [exact, noisy].forEach { try $0.advance(to: label) }
                if labels.contains(label), let moved = try noisy.values(of: label),
                    let plain = try exact.values(of: label)
                {
                    nodes.measure(label, Metrics(moved, against: plain))
                }
                measureResults(exact, noisy, run.positions)
            }
            try [exact, noisy].forEach { try $0.finish() }
            measureResults(exact, noisy, run.positions)
        }
    }

    private mutating func measureResults(
        _ exact: FollowingReference, _ noisy: FollowingReference, _ positions: CountedPositions
    ) {
        for (name, plain) in exact.results {
            guard let moved = noisy.results[name] else { continue }
            results.measure(name, positions.metrics(of: moved, against: plain))
            [exact, noisy].forEach { $0.drop(name) }
        }
    }
}
