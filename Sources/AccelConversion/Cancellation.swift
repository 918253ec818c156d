import Synchronization

/// A request to end some work early. It is looked at before each weight, and between the steps of a conversion.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)

    public init() {}

    public func cancel() { flag.store(true, ordering: .releasing) }
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// - Throws: `CancellationError` once the work is cancelled.
    public func check() throws { if isCancelled { throw CancellationError() } }
}
