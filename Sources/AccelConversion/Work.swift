import AccelByteIO

/// Long work on a thread of its own, with its events and its result. Releasing this value does not stop the work.
///
///     let work = conversion.run(to: .folder("model.accelpkg"))
///     for await event in work.events { print(event.text) }
///     let package = try await work.value
public final class Work<Success: Sendable, Event: Sendable>: Sendable {
    /// The events in order; the stream ends with the work. If nobody reads, the newest 1024 are kept.
    public let events: AsyncStream<Event>
    private let cancellation: Cancellation
    private let task: Task<Success, any Error>
    /// Number of unread events that are kept.
    private static var bufferedEvents: Int { 1024 }

    init(
        _ cancellation: Cancellation,
        _ body: @escaping @Sendable (_ emit: @escaping @Sendable (Event) -> Void) throws -> Success
    ) {
        let (events, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.bufferedEvents))
        self.events = events
        self.cancellation = cancellation
        task = Task {
            try await withCheckedThrowingContinuation { result in
                // The work blocks, so it must not run on the cooperative pool.
                let hasStarted = DetachedThread.start {
                    let made = Result { try body { continuation.yield($0) } }
                    continuation.finish()
                    result.resume(with: made)
                }
                if !hasStarted {
                    continuation.finish()
                    result.resume(throwing: RequestError("the system makes no more threads", status: .unavailable))
                }
            }
        }
    }

    /// The result, after the work has ended. Cancelling a task that waits here cancels the work.
    /// - Throws: `CancellationError` after `cancel()`, and the errors of the work.
    public var value: Success {
        get async throws {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                cancel()
            }
        }
    }

    /// Cancels the work at its next check. No partial output is left behind.
    public func cancel() { cancellation.cancel() }
}
