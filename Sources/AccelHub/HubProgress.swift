import AccelByteIO

/// The progress of a download.
public struct HubProgress: Equatable, Sendable {
    /// The bytes that are there, with those of an earlier download.
    public var doneBytes: Int
    /// The bytes of all files that the cache did not have whole.
    public var totalBytes: Int
    /// The bytes per second of the last seconds.
    public var bytesPerSecond: Double
    /// The remaining time in seconds at this rate; nil while nothing arrives.
    public var remainingSeconds: Double? {
        bytesPerSecond > 0 ? Double(totalBytes - doneBytes) / bytesPerSecond : nil
    }
}

/// Counts the bytes of several files, and reports them not too often.
final class ProgressMeter: Sendable {
    private struct State {
        var done = 0
        /// The bytes that have arrived, at a few moments of the last seconds, the oldest first.
        var samples: [(time: ContinuousClock.Instant, bytes: Int)]
        var arrived = 0
    }
    private let total: Int
    private let report: @Sendable (HubProgress) -> Void
    private let state: Locked<State>
    private static let (interval, window): (Duration, Duration) = (.milliseconds(100), .seconds(5))

    /// - Parameter done: the bytes of earlier downloads.
    init(total: Int, done: Int, _ report: @escaping @Sendable (HubProgress) -> Void) {
        (self.total, self.report) = (total, report)
        state = Locked(State(done: done, samples: [(.now, 0)]))
        report(HubProgress(doneBytes: done, totalBytes: total, bytesPerSecond: 0))
    }

    /// Notes bytes that have arrived, or were dropped (negative).
    func add(_ bytes: Int) {
        state.withLock { state in
            state.done += bytes
            state.arrived += max(0, bytes)
            let now = ContinuousClock.now
            guard let last = state.samples.last, now - last.time >= Self.interval || state.done == total, bytes != 0
            else {
                return
            }
            state.samples.append((now, state.arrived))
            while state.samples.count > 2, now - state.samples[0].time > Self.window { state.samples.removeFirst() }
            let first = state.samples[0]
            let seconds = (now - first.time) / .seconds(1)
            let rate = seconds > 0 ? Double(state.arrived - first.bytes) / seconds : 0
            // Under the lock, so that reports are in order.
            report(HubProgress(doneBytes: state.done, totalBytes: total, bytesPerSecond: rate))
        }
    }
}
