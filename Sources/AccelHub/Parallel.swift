import AccelByteIO

/// Calls `body` for all elements, on a few threads.
/// - Parameter body: also gets a cancellation, which follows `cancellation` and the first failure.
/// - Throws: the first error of `body`, after all calls have ended.
func inParallel<Element: Sendable>(
    _ elements: [Element], threads: Int, _ cancellation: Cancellation,
    _ body: @escaping @Sendable (Element, Cancellation) throws -> Void
) throws {
    let state = Locked<(next: Int, error: (any Error)?)>((0, nil))
    let inner = Cancellation(or: { cancellation.isCancelled || state.withLock { $0.error != nil } })
    let work: @Sendable () -> Void = {
        while let index = state.withLock({ state -> Int? in
            guard state.error == nil, state.next < elements.count else { return nil }
            defer { state.next += 1 }
            return state.next
        }) {
            do {
                try body(elements[index], inner)
            } catch {
                // Those that follow a failure are only cancelled by it.
                state.withLock { if $0.error == nil { $0.error = error } }
            }
        }
    }
    let ended = WorkQueue<Void>()
    let others = (1..<max(1, min(threads, elements.count))).count { _ in
        DetachedThread.start {
            work()
            ended.add(())
        }
    }
    work()
    for _ in 0..<others { _ = ended.next() }
    if let error = state.withLock({ $0.error }) { throw error }
}
