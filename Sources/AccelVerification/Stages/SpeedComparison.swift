import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The time of a package's function beside that of the same function with all weights in float32, in the same process and with
/// the same threads. The best of many runs is taken on both sides, in turns, so that other work on the machine hits both. The
/// runs are divided into rounds: how far the rounds' ratios lie apart is the noise of the measurement.
struct SpeedComparison {
    let program: ModelPlan
    let threads: Int
    /// The time that the runs may take after the first of each side, in seconds.
    private static let seconds = 2.0
    private static let rounds = 5
    private static let leastRuns = 1
    private static let mostRuns = 200

    /// Returns the best time in float32 divided by the best time of the package, above 1 if the package is faster, and the same
    /// of each round.
    /// - Parameters:
    ///   - function: the index of the package's function.
    ///   - frozen: the model's function with the same sizes, and with states and activations of its own.
    func speed(_ function: Int, _ frozen: FrozenProgram, seed: UInt64) throws -> SpeedFigure {
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
        let start = clock.now
        var figure = SpeedFigure()
        for round in 1...Self.rounds {
            var best = (own: Duration.seconds(1 << 30), plain: Duration.seconds(1 << 30))
            let end = start + .seconds(Self.seconds * Double(round) / Double(Self.rounds))
            for run in 0..<Self.mostRuns {
                if run >= Self.leastRuns, clock.now > end { break }
                best.own = min(best.own, try time(sessions.own, function))
                best.plain = min(best.plain, try time(sessions.plain, 0))
                figure.runs += 1
            }
            figure.add(own: best.own, plain: best.plain)
        }
        return figure
    }
}

/// A measured speed relative to float32, with the noise of its measurement.
struct SpeedFigure: Sendable {
    /// The runs of each side.
    var runs = 0
    /// The ratio of each round.
    private(set) var rounds: [Double] = []
    private var best = (own: Duration.seconds(1 << 30), plain: Duration.seconds(1 << 30))

    /// The ratio of the best times of all rounds.
    var ratio: Double { best.plain / max(best.own, .nanoseconds(1)) }
    /// The ratios of the slowest and of the fastest round.
    var spread: ClosedRange<Double> {
        min(rounds.min() ?? ratio, ratio)...max(rounds.max() ?? ratio, ratio)
    }

    /// Adds the best times of a round.
    mutating func add(own: Duration, plain: Duration) {
        rounds.append(plain / max(own, .nanoseconds(1)))
        best = (min(best.own, own), min(best.plain, plain))
    }

    /// The members that a report has besides the ratio.
    var json: [JSON.Member] {
        [
            .init("runs", .integer(Int64(runs))), .init("least", .figure(spread.lowerBound)),
            .init("most", .figure(spread.upperBound)),
        ]
    }

    /// e.g. `best of 62 runs of each, 5 rounds of 0.931 to 1.012`
    var words: String {
        func figure(_ value: Double) -> String { FigureText.fixed(value, digits: 3) }
        return "best of \(Wording.count(runs, "run")) of each, \(Wording.count(rounds.count, "round")) of "
            + "\(figure(spread.lowerBound)) to \(figure(spread.upperBound))"
    }
}
