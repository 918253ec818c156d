/// Long work beside the caller, with its events and its result. Releasing this value does not stop the work.
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
    /// Receives the events of the work.
    package typealias Emit = @Sendable (Event) -> Void

    /// Starts work that blocks, on a thread of its own.
    package init(
        _ cancellation: Cancellation, _ body: @escaping @Sendable (_ emit: @escaping Emit) throws -> Success
    ) {
        let (events, continuation) = Self.makeEvents()
        (self.events, self.cancellation) = (events, cancellation)
        task = Task {
            defer { continuation.finish() }
            return try await DetachedThread.value { try body { continuation.yield($0) } }
        }
    }

    /// Starts work that waits for other tasks. What blocks in it belongs on a thread of its own: `DetachedThread.value`.
    package init(
        awaiting body:
            @escaping @Sendable (_ emit: @escaping Emit, _ cancellation: Cancellation) async throws -> Success
    ) {
        let (events, continuation) = Self.makeEvents()
        let cancellation = Cancellation()
        (self.events, self.cancellation) = (events, cancellation)
        task = Task {
            defer { continuation.finish() }
            return try await body({ continuation.yield($0) }, cancellation)
        }
    }

    private static func makeEvents() -> (AsyncStream<Event>, AsyncStream<Event>.Continuation) {
        AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(bufferedEvents))
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
    public func cancel() {
        cancellation.cancel()
        task.cancel()
    }
}
