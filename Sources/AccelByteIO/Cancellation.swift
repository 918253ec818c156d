import Synchronization

/// A request to end work early: by a call from any thread, or when a time is over. Work checks it between its parts.
public final class Cancellation: Sendable {
    /// Why work ends early.
    public enum Reason: Sendable {
        /// `cancel()` has been called.
        case cancelled
        /// The time limit is over.
        case timeLimit
    }
    private static let (running, cancelled, timedOut) = (0, 1, 2)
    private let state = Atomic(running)
    private let deadline: ContinuousClock.Instant?
    private let isRequested: (@Sendable () -> Bool)?

    /// A request that is not cancelled yet.
    /// - Parameters:
    ///   - timeLimit: the time from now after which the work ends; nil for no limit.
    ///   - isRequested: is asked before each piece of work, on its thread, and cancels the work too; nil if nothing else does.
    public init(after timeLimit: Duration? = nil, or isRequested: (@Sendable () -> Bool)? = nil) {
        deadline = timeLimit.map { ContinuousClock.now + $0 }
        self.isRequested = isRequested
    }

    /// Cancels the work, from any thread. There is no way back.
    public func cancel() {
        _ = state.compareExchange(expected: Self.running, desired: Self.cancelled, ordering: .acquiringAndReleasing)
    }

    /// Why the work has to end; nil while it may go on. Once it has to end, the reason does not change.
    public var reason: Reason? {
        var now = state.load(ordering: .acquiring)
        if now == Self.running, let isRequested, isRequested() {
            cancel()
            now = state.load(ordering: .acquiring)
        }
        if now == Self.running, let deadline, ContinuousClock.now >= deadline {
            now =
                state.compareExchange(expected: Self.running, desired: Self.timedOut, ordering: .acquiringAndReleasing)
                .original
            if now == Self.running { now = Self.timedOut }
        }
        return now == Self.running ? nil : now == Self.cancelled ? .cancelled : .timeLimit
    }

    /// Whether the work has to end.
    public var isCancelled: Bool { reason != nil }

    /// - Throws: `CancellationError` once the work is cancelled; `TimeLimitError` once its time is over.
    public func check() throws {
        switch reason {
        case nil: return
        case .cancelled: throw CancellationError()
        case .timeLimit: throw TimeLimitError()
        }
    }
}

/// The time limit of the work was over before the work was done.
public struct TimeLimitError: ReportedError, Equatable {
    /// An error without a location: the caller knows whose time it was.
    public init() {}
    public var description: String { "took longer than its time limit" }
    public var exitStatus: ExitStatus { .unavailable }
}
