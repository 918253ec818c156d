public import AccelByteIO

extension AccelModel {
    /// Opens a package on a thread of its own, with progress and a way to stop.
    ///
    ///     let opening = AccelModel.opening(.path("chat.accelpkg"))
    ///     Task { for await event in opening.events { print(event.kind, event.fraction) } }
    ///     let model = try await opening.value
    ///
    /// The events are `checking`, then `preparing` for each backend that is tried, with `fellBack` between them, and `ready`. Cancelling the
    /// work, or a task that waits for its value, ends it before its next piece of work; then it throws `AccelError` (cancelled), and
    /// nothing of the model stays in memory.
    /// - Parameters: as for `init`.
    public static func opening(
        _ source: Source, trust: Trust = .intact, configuration: Configuration = .automatic
    ) -> Work<AccelModel, LoadingEvent> {
        Work(awaiting: { emit, _ in
            // Checking and loading block, so they must not run on the cooperative pool.
            try await withTaskExecutorPreference(WorkThread.ForTasks()) {
                emit(.checking)
                return try await AccelModel(source, trust: trust, configuration: configuration, progress: emit)
            }
        })
    }

    /// The tokens that end a text, by the package: `generate` stops at them by default.
    /// - Throws: `AccelError` (corrupt) if the package's configuration names something else.
    public func stopTokens() throws(AccelError) -> Set<Int64> {
        do { return try package.stopTokens() } catch { throw AccelError(error, at: package.path) }
    }
}
