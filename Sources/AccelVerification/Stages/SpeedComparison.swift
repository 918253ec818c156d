import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The time of a package's function beside that of the same function with all weights in float32, in the same process and with
/// the same threads. The best of many runs is taken on both sides, in turns, so that other work on the machine hits both.
struct SpeedComparison {
    let program: ModelPlan
    let threads: Int
    /// The time that the runs may take after the first of each side, in seconds.
    private static let seconds = 2.0
    private static let leastRuns = 5
    private static let mostRuns = 1000

    /// Returns the best time in float32 divided by the best time of the package; above 1 the package is faster.
    /// - Parameters:
    ///   - function: the index of the package's function.
    ///   - frozen: the model's function with the same sizes, and with states and activations of its own.
    func ratio(_ function: Int, _ frozen: FrozenProgram, seed: UInt64) throws -> Double {
        let plain = try Recipe(default: Codecs.codec("float32")).compressing([frozen], threads: threads).planned()
        let inputs = SeededInputs(seed: seed).inputs(for: frozen)
            .reduce(into: [String: StoredTensor]()) { $0[$1.key] = $1.value.stored(name: $1.key) }
        let sessions = (own: try Session(program, threads: threads), plain: try Session(plain, threads: threads))
        let clock = ContinuousClock()
        func time(_ session: Session, _ index: Int) throws -> Duration {
            try clock.measure { _ = try session.executor(of: index).run(inputs) }
        }
        // Memory and weights are ready after the first run.
        _ = (try time(sessions.own, function), try time(sessions.plain, 0))
        var best = (own: Duration.seconds(1 << 30), plain: Duration.seconds(1 << 30))
        let start = clock.now
        for run in 0..<Self.mostRuns {
            if run >= Self.leastRuns, clock.now - start > .seconds(Self.seconds) { break }
            best.own = min(best.own, try time(sessions.own, function))
            best.plain = min(best.plain, try time(sessions.plain, 0))
        }
        return best.plain / max(best.own, .nanoseconds(1))
    }
}
