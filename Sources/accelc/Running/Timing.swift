import Accel
import AccelByteIO
import AccelCPURuntime
import AccelPlatform

/// The private memory of a session on this processor, in bytes.
struct SessionMemory {
    /// Intermediate values and scratch memory.
    let arena: Int
    /// Key/value caches and other states.
    let states: Int
    /// Vectors, scalars and small tables that stay decoded.
    let decodedWeights: Int

    var text: String {
        "  values and scratch \(Wording.bytes(arena)), states \(Wording.bytes(states)), decoded weights \(Wording.bytes(decodedWeights))"
    }

    var json: JSON {
        [
            "arena_bytes": .int(arena), "state_bytes": .int(states),
            "decoded_bytes": .int(decodedWeights),
        ]
    }
}

/// The times of loading, preparing and each run.
struct Timing {
    private(set) var loading: Duration = .zero
    private(set) var preparing: Duration = .zero
    private(set) var runs: [Duration] = []
    /// The peak memory of the process up to the end of the last run, in bytes.
    private(set) var peakMemory = 0

    mutating func load<Result>(_ body: () throws -> Result) rethrows -> Result { try Self.time(&loading, body) }
    mutating func prepare<Result>(_ body: () throws -> Result) rethrows -> Result { try Self.time(&preparing, body) }
    mutating func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        runs.append(.zero)
        defer { peakMemory = Self.processPeak }
        return try Self.time(&runs[runs.count - 1], body)
    }

    private static func time<Result>(_ duration: inout Duration, _ body: () throws -> Result) rethrows -> Result {
        let start = ContinuousClock.now
        defer { duration = ContinuousClock.now - start }
        return try body()
    }

    var best: Duration { runs.min() ?? .zero }
    /// The median; of an even number of runs the upper one of the two in the middle.
    var median: Duration { runs.isEmpty ? .zero : runs.sorted()[runs.count / 2] }

    /// Returns milliseconds, rounded to a microsecond.
    func milliseconds(_ duration: Duration) -> Double { (duration / .microseconds(1)).rounded() / 1000 }

    /// The peak resident memory of this process in bytes, mapped files included.
    static var processPeak: Int {
        var usage = rusage()
        // RUSAGE_SELF is 0 on every platform, but its type differs.
        guard getrusage(0, &usage) == 0 else { return 0 }
        #if canImport(Darwin)
            return usage.ru_maxrss
        #else
            return usage.ru_maxrss * 1024
        #endif
    }

    var text: String {
        let figures = [("load", loading), ("prepare", preparing), ("best", best), ("median", median)]
        let times = figures.map { "\($0) \(Text.decimals(milliseconds($1), 3)) ms" }.joined(separator: ", ")
        return "  \(times) of \(Wording.count(runs.count, "run")), peak memory \(Wording.bytes(peakMemory))"
    }

    /// The speeds of a decoder: tokens per second of the prompt and of generation, and the time of a run of each function, if there
    /// are several runs.
    /// - Parameter names: of the package's functions.
    func lines(of result: RunPlan.Result, names: [String]) -> [String] {
        var lines: [String] = []
        let rows = result.rows > 1 ? " of \(result.rows) rows" : ""
        for (name, part) in [("prompt", result.prompt), ("generation", result.generation)] where part.tokens > 0 {
            let time = "\(Text.decimals(milliseconds(part.duration), 3)) ms"
            let speed = Text.decimals(Self.perSecond(part.tokens, part.duration), 1)
            lines.append(
                "  \(name): \(Wording.count(part.tokens, "token"))\(rows) in \(time), \(speed) tokens per second"
                    + (runs.count > 1 ? " (the fastest run)" : ""))
        }
        if result.generation.tokens > 0 {
            lines.append("  the prompt's time includes the first token that is generated")
        }
        guard result.runs.count > 1 else { return lines }
        for function in result.runs.map(\.function).distinct {
            let own = result.runs.filter { $0.function == function }.map(\.duration).sorted()
            lines.append(
                "  \(names[function]): \(Text.decimals(milliseconds(own[own.count / 2]), 3)) ms"
                    + (own.count > 1 ? ", the median of \(own.count) runs" : ""))
        }
        return lines
    }

    /// Returns the speed of a part of a run as JSON; null for a part without tokens.
    static func speed(_ part: (tokens: Int, duration: Duration)) -> JSON {
        guard part.tokens > 0 else { return .null }
        return [
            "tokens": .int(part.tokens), "ms": .number(Timing().milliseconds(part.duration)),
            "tokens_per_second": .number((perSecond(part.tokens, part.duration) * 1000).rounded() / 1000),
        ]
    }

    private static func perSecond(_ tokens: Int, _ duration: Duration) -> Double {
        Double(tokens) / max(duration / .seconds(1), 1e-9)
    }
}
