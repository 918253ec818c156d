import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// The kernel calls of a run with their times: of several repetitions, those of the fastest.
final class RunProfile {
    /// A run of a function, with the duration of each call.
    private struct Run {
        let function: Int
        let end: Duration
        let durations: [Duration]
        var length: Duration { durations.reduce(.zero, +) }
        var start: Duration { end - length }
    }
    private let clock = ContinuousClock()
    private var start = ContinuousClock.now
    private var calls: [Int: [CallProfile]] = [:]
    private var current: [Run] = []
    private var best: (runs: [Run], duration: Duration)?

    /// Begins a repetition.
    func begin() {
        current = []
        start = clock.now
    }

    /// Adds the run of a function that has just ended. Its first run tells its calls.
    func add(_ executor: Executor, of function: Int) {
        if calls[function] == nil { calls[function] = executor.profile }
        current.append(Run(function: function, end: clock.now - start, durations: executor.durations))
    }

    /// Ends the repetition.
    func end() {
        let duration = clock.now - start
        if best.map({ duration < $0.duration }) ?? true { best = (current, duration) }
    }

    private var runs: [Run] { best?.runs ?? [] }

    /// The calls of a run with their times.
    private func calls(of run: Run) -> [CallProfile] {
        zip(calls[run.function] ?? [], run.durations).map { call, duration in
            var call = call
            call.duration = duration
            return call
        }
    }

    /// The calls of each function with their times added up over its runs, in the order in which functions first ran.
    private var functions: [(function: Int, runs: Int, calls: [CallProfile])] {
        var sums: [(function: Int, runs: Int, calls: [CallProfile])] = []
        for run in runs {
            guard let index = sums.firstIndex(where: { $0.function == run.function }) else {
                sums.append((run.function, 1, calls(of: run)))
                continue
            }
            sums[index].runs += 1
            for (call, duration) in run.durations.enumerated() { sums[index].calls[call].duration += duration }
        }
        return sums
    }
}

extension RunProfile {
    /// A table of each function's calls, the longest first.
    func text(_ program: ModelPlan, _ limits: MachineLimits) -> String {
        let head =
            "  limits of this machine, measured now: \(Self.billions(limits.multiplyAddsPerSecond, 0)) billion "
            + "multiply-adds and \(Self.billions(limits.bytesPerSecond, 1)) GB from memory a second; data in the processor's "
            + "caches is faster (> 100 %)"
        return
            ([head]
            + functions.map { function, runs, calls in
                let total = calls.reduce(Duration.zero) { $0 + $1.duration }
                let rows = calls.sorted { $0.duration > $1.duration }.map { Self.row($0, of: total, runs, limits) }
                return "  \(program.functions[function].name), \(Wording.count(runs, "run")): "
                    + "\(Text.decimals(Self.milliseconds(total), 3)) ms in calls"
                    + (calls.contains(where: \.isJoined)
                        ? "; ~ of calls that run together, divided by multiply-adds" : "")
                    + (calls.contains(where: \.isOfCache)
                        ? "; no speed of calls on a cache, which take some of its positions" : "")
                    + "\n  \(Self.kernels(calls, of: total))\n"
                    + Text.table(
                        [
                            .number("  ms"), .number("share"), .number("of limit"), .number("G multiply-adds/s"),
                            .number("GB/s"), "kernel", "weight", "result", "call",
                        ],
                        rows)
            }).joined(separator: "\n")
    }

    /// The share of each kernel, the largest first.
    private static func kernels(_ calls: [CallProfile], of total: Duration) -> String {
        let sums = Dictionary(grouping: calls, by: \.kernel).mapValues { $0.reduce(Duration.zero) { $0 + $1.duration } }
        return sums.filter { $0.value > .zero }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
            "\($0.key) \(Text.decimals(100 * ($0.value / max(total, .nanoseconds(1))), 1)) %"
        }.joined(separator: ", ")
    }

    private static func row(
        _ profile: CallProfile, of total: Duration, _ runs: Int, _ limits: MachineLimits
    ) -> [String] {
        let one = profile.dividing(by: runs)
        let (seconds, share) = (max(one.duration / .seconds(1), 1e-9), one.share(of: limits))
        // The product before it makes it: there is no time to measure, and no speed.
        let isPart = profile.isJoined && profile.duration == .zero
        let hasSpeed = !isPart && !profile.isOfCache
        // Of a product with its activation, the label is the activation's.
        let weight = one.weight.map { " of \($0)" } ?? ""
        return [
            "  \(profile.isJoined ? "~" : "")\(Text.decimals(milliseconds(profile.duration), 3))",
            "\(Text.decimals(100 * (profile.duration / max(total, .nanoseconds(1))), 1)) %",
            !hasSpeed ? "" : share > 1 ? "> 100 %" : "\(Text.decimals(100 * share, 0)) %",
            !hasSpeed || one.multiplyAdds == 0 ? "" : billions(Double(one.multiplyAdds) / seconds, 1),
            !hasSpeed ? "" : billions(Double(one.byteCount) / seconds, 1),
            isPart ? "with the product" : one.kernel, one.encoding ?? "", shapes(one),
            "\(one.call.operation.name) \"\(one.call.label)\"\(weight)",
        ]
    }

    private static func shapes(_ profile: CallProfile) -> String {
        profile.call.outputs.map { "\($0.elementType.rawValue)\($0.shape)" }.joined(separator: ", ")
    }

    private static func milliseconds(_ duration: Duration) -> Double { duration / .microseconds(1) / 1000 }
    private static func billions(_ value: Double, _ digits: Int) -> String { Text.decimals(value / 1e9, digits) }

    /// The functions as JSON: each call with its time, in the order of execution.
    func document(_ program: ModelPlan, _ limits: MachineLimits) -> JSON {
        [
            "multiply_adds_per_second": .number(limits.multiplyAddsPerSecond.rounded()),
            "bytes_per_second": .number(limits.bytesPerSecond.rounded()),
            "functions": .array(
                functions.map { function, runs, calls in
                    [
                        "name": .string(program.functions[function].name), "runs": .int(runs),
                        "calls": .array(
                            calls.map { call in
                                var members = Self.members(of: call)
                                members.append(JSON.Member("ms", .number(Self.milliseconds(call.duration))))
                                let share = call.dividing(by: runs).share(of: limits)
                                let isKnown = call.duration > .zero && !call.isOfCache
                                members.append(
                                    JSON.Member(
                                        "share_of_limit",
                                        isKnown ? .number((share * 1000).rounded() / 1000) : .null))
                                return .object(members)
                            }),
                    ]
                }),
        ]
    }

    private static func members(of profile: CallProfile) -> [JSON.Member] {
        [
            JSON.Member("operator", .string(profile.call.operation.name)),
            JSON.Member("label", .string(profile.call.label)), JSON.Member("kernel", .string(profile.kernel)),
            JSON.Member("weight", .text(profile.encoding)),
            JSON.Member("weight_name", .text(profile.weight)),
            JSON.Member("joined", .bool(profile.isJoined)),
            JSON.Member("result", .string(shapes(profile))),
            JSON.Member("multiply_adds", .int(profile.multiplyAdds)),
            JSON.Member("bytes", .int(profile.byteCount)),
        ]
    }

    /// The calls as events of the Trace Event Format, which Perfetto and chrome://tracing open.
    func trace(_ program: ModelPlan) -> JSON {
        var events: [JSON] = []
        func event(_ name: String, _ category: String, _ start: Duration, _ length: Duration, _ arguments: JSON) {
            events.append([
                "name": .string(name), "cat": .string(category), "ph": "X", "pid": 1, "tid": 1,
                "ts": .number(start / .microseconds(1)), "dur": .number(length / .microseconds(1)), "args": arguments,
            ])
        }
        for run in runs {
            event(program.functions[run.function].name, "function", run.start, run.length, [:])
            var start = run.start
            for call in calls(of: run) {
                event(
                    call.call.label.isEmpty ? call.call.operation.name : call.call.label, call.call.operation.name,
                    start, call.duration, .object(Self.members(of: call)))
                start += call.duration
            }
        }
        return ["accelc": .string(Self.traceMark), "displayTimeUnit": "ms", "traceEvents": .array(events)]
    }

    static let traceMark = "trace"
}

extension CallProfile {
    /// The same with the mean time of several runs.
    fileprivate func dividing(by runs: Int) -> CallProfile {
        var profile = self
        profile.duration /= max(runs, 1)
        return profile
    }
}

extension OutputKind {
    /// The trace of a run.
    static let trace = OutputKind.file("a trace of a run", suffixes: [".json"]) { path in
        try missingMark(RunProfile.traceMark, in: path)
    }
}
