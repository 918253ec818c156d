import AccelByteIO
import AccelPlatform

/// How long loading, preparing and each run took.
struct Timing {
    private let clock = ContinuousClock()
    private(set) var loading: Duration = .zero
    private(set) var preparing: Duration = .zero
    private(set) var runs: [Duration] = []

    mutating func load<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = clock.now
        let result = try body()
        loading = clock.now - start
        return result
    }

    mutating func prepare<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = clock.now
        let result = try body()
        preparing = clock.now - start
        return result
    }

    mutating func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        let start = clock.now
        let result = try body()
        runs.append(clock.now - start)
        return result
    }

    var best: Duration { runs.min() ?? .zero }
    /// The upper one of two in the middle.
    var median: Duration { runs.isEmpty ? .zero : runs.sorted()[runs.count / 2] }

    /// To a microsecond.
    func milliseconds(_ duration: Duration) -> Double { (duration / .microseconds(1)).rounded() / 1000 }

    /// The most bytes that this process has had in memory, mapped files included.
    static var peakMemory: Int {
        var usage = rusage()
        // RUSAGE_SELF is 0 everywhere, under a type of its own here and there.
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
        return "  \(times) of \(Wording.count(runs.count, "run")), peak memory \(Text.bytes(Self.peakMemory))"
    }

    /// Of a decoder's blocks: the first, which is the prefill, and the others, which are steps; nil when there is but one.
    func text(ofBlocks blocks: [Duration]) -> String? {
        guard let first = blocks.first, blocks.count > 1 else { return nil }
        let steps = blocks.dropFirst().sorted()
        return "  first block \(Text.decimals(milliseconds(first), 3)) ms, "
            + "then \(Text.decimals(milliseconds(steps[steps.count / 2]), 3)) ms a block (median of \(steps.count))"
    }
}
