import AccelByteIO

/// Long work on a thread of its own, with its events and its result. It goes on when this value is let go.
///
///     let work = conversion.run(to: .folder("model.accelpkg"))
///     for await event in work.events { print(event.text) }
///     let package = try await work.value
public final class Work<Success: Sendable, Event: Sendable>: Sendable {
    /// What the work tells, in order; it ends with the work. Where nobody reads, the newest are kept.
    public let events: AsyncStream<Event>
    private let cancellation: Cancellation
    private let task: Task<Success, any Error>
    /// Events that wait for a reader, at most.
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
                // Not on the cooperative pool: the work blocks.
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

    /// The result, once it is there. Waiting for it in a task that is cancelled cancels the work.
    /// - Throws: `CancellationError` after `cancel()`, and what the work throws.
    public var value: Success {
        get async throws {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                cancel()
            }
        }
    }

    /// Ends the work soon, with nothing half-written left.
    public func cancel() { cancellation.cancel() }
}
