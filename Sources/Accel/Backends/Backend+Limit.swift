import AccelByteIO

extension Backend {
    /// Loads a model in at most a time. When that is over, or the caller's task is cancelled, the loading is cancelled, and what a
    /// backend that does not stop still makes is dropped.
    /// - Parameters:
    ///   - limit: nil for no limit.
    ///   - progress: is not called once this has returned.
    /// - Throws: `AccelError` (timed out) after the limit, (cancelled), and the errors of `load`.
    func load(
        _ request: BackendRequest, within limit: Duration?,
        progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        guard let limit else { return try await load(request, progress: progress) }
        // The first result counts: that of the loading, or of the clock.
        let (results, first) = AsyncStream.makeStream(
            of: Result<any LoadedModel, AccelError>.self, bufferingPolicy: .bufferingOldest(1))
        let isOver = Locked(false)
        let loading = Task(executorPreference: WorkThread.ForTasks()) {
            do throws(AccelError) {
                let model = try await load(request) { event in isOver.withLock { if !$0 { progress(event) } } }
                first.yield(.success(model))
            } catch {
                first.yield(.failure(error))
            }
            first.finish()
        }
        let clock = Task {
            // Ends with an error when it is cancelled.
            guard (try? await Task.sleep(for: min(limit, .seconds(1 << 30)))) != nil else { return }
            let problem = "\(id) was not ready within \(limit)"
            first.yield(.failure(AccelError(.timedOut, problem, at: request.package.path)))
            first.finish()
        }
        defer {
            clock.cancel()
            loading.cancel()
            isOver.withLock { $0 = true }
        }
        for await result in results { return try result.get() }
        throw AccelError(.cancelled, "was cancelled", at: request.package.path)
    }
}
