import AccelByteIO
import AccelCPURuntime
import AccelPlatform
import AccelPrograms
import AccelTensors
import Foundation

/// Cancels runs of each operator at random moments, and measures the time until they have ended.
struct CancellationLoad {
    /// Of each load.
    let moments: Int
    let threads: Int
    static let limit = Duration.milliseconds(100)

    /// Prints a line for each operator: its name, the runs, those that ended in time, the others. To standard error, a line for each
    /// load: the duration of a whole run, the median delay, the 99th percentile and the longest one in milliseconds.
    /// - Returns: the names of operators without a load.
    func run(only names: [String]) throws -> [String] {
        let all = OperatorLoads(scale: 1).all
        for (operation, loads) in all where names.isEmpty || names.contains(operation) {
            var delays: [Duration] = []
            for make in loads {
                let load = try make()
                let (whole, found) = try measure(load)
                delays += found
                Self.note(
                    "\(load.name): whole \(Self.text(whole)), delays \(Self.text(Self.percentile(50, found))), "
                        + "\(Self.text(Self.percentile(99, found))), \(Self.text(found.max() ?? .zero))")
            }
            let high = Self.percentile(99, delays)
            let late = high > Self.limit ? max(delays.count { $0 > Self.limit }, 1) : 0
            print(
                "cancelling \(operation): p99 \(Self.text(high)) ms\t\(delays.count)\t\(delays.count - late)\t\(late)")
        }
        return names.isEmpty
            ? Operators.all.map { $0.name }.filter { name in !all.contains { $0.operation == name } } : []
    }

    private func measure(_ load: OperatorLoad) throws -> (whole: Duration, delays: [Duration]) {
        let session = try Session(load.program, threads: threads)
        let clock = ContinuousClock()
        // The first run prepares the function.
        _ = try session.run(0, load.inputs)
        var whole = try clock.measure { _ = try session.run(0, load.inputs) }
        var (delays, generator) = ([Duration](), SystemRandomNumberGenerator())
        while delays.count < moments {
            let (cancellation, moment) = (Cancellation(), Locked<ContinuousClock.Instant?>(nil))
            let pause = whole * Double.random(in: 0..<0.95, using: &generator)
            let hasStarted = DetachedThread.start {
                usleep(UInt32(clamping: Int(pause / .microseconds(1))))
                moment.withLock { $0 = clock.now }
                cancellation.cancel()
            }
            guard hasStarted else { throw RequestError("the system makes no more threads", status: .unavailable) }
            _ = try? session.run(0, load.inputs, until: cancellation)
            let end = clock.now
            // A run may be faster than the first one. A run that was asked to end and came to its own end counts like any other.
            guard let start = moment.withLock({ $0 }), start < end else {
                whole = whole * 0.98
                continue
            }
            delays.append(end - start)
        }
        return (whole, delays)
    }

    static func percentile(_ percent: Int, _ delays: [Duration]) -> Duration {
        let sorted = delays.sorted()
        return sorted.isEmpty ? .zero : sorted[min((sorted.count * percent + 99) / 100, sorted.count) - 1]
    }

    static func text(_ duration: Duration) -> String { "\(Double(Int(duration / .microseconds(100))) / 10)" }

    static func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
