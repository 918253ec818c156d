import Synchronization

/// A request to end work early. Conversions check it before each weight and between their stages.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)

    /// A request that is not cancelled yet.
    public init() {}

    /// Cancels the work, from any thread. There is no way back.
    public func cancel() { flag.store(true, ordering: .releasing) }
    /// Whether `cancel()` has been called.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// - Throws: `CancellationError` once the work is cancelled.
    public func check() throws { if isCancelled { throw CancellationError() } }
}
