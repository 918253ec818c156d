import AccelByteIO
import AccelPlatform

/// Runs asynchronous work on the thread that waits for it: no other thread is needed, so that callbacks may wait, too.
package final class WaitingThread: TaskExecutor {
    private let jobs = WorkQueue<UnownedJob>()

    /// Those that nobody waits in. They are never freed: who has given the last job may still be about to leave the lock.
    private static let idle = Locked<[WaitingThread]>([])

    package func enqueue(_ job: consuming ExecutorJob) { jobs.add(UnownedJob(job)) }

    private func drain() {
        let executor = asUnownedTaskExecutor()
        while let job = jobs.next() { job.runSynchronously(on: executor) }
    }

    /// Returns what `body` returns.
    /// - Parameter isCancelled: is asked every 10 ms, by a thread of its own, and cancels the task of `body`; nil if nothing does.
    package static func wait<Success: Sendable>(
        until isCancelled: (@Sendable () -> Bool)? = nil,
        for body: @escaping @Sendable () async throws(AccelError) -> Success
    ) throws(AccelError) -> Success {
        let watch = try isCancelled.map { (isCancelled) throws(AccelError) in try Watch(isCancelled) }
        defer { watch?.end() }
        let thread = idle.withLock { $0.popLast() } ?? WaitingThread()
        defer { idle.withLock { $0.append(thread) } }
        let result = Locked<Result<Success, AccelError>>(
            .failure(AccelError(.internalFailure, "the work ended without a result", at: "")))
        let task = Task(executorPreference: thread) {
            let made: Result<Success, AccelError>
            do throws(AccelError) { made = .success(try await body()) } catch { made = .failure(error) }
            result.withLock { $0 = made }
            thread.jobs.close()
        }
        watch?.begin(task)
        thread.drain()
        return try result.withLock { $0 }.get()
    }

    /// A thread that cancels a task once it is asked to.
    private final class Watch: Sendable {
        private struct State {
            var task: Task<Void, Never>?
            var hasEnded = false
        }
        private let state = Locked(State())

        /// - Throws: `AccelError`: (cancelled) if it is asked to already, (memory) without a thread.
        init(_ isCancelled: @escaping @Sendable () -> Bool) throws(AccelError) {
            if isCancelled() { throw AccelError(.cancelled, "was cancelled") }
            let hasStarted = DetachedThread.start { [state] in
                while !state.withLock({ $0.hasEnded }) {
                    if isCancelled(), let task = state.withLock({ $0.task }) { return task.cancel() }
                    usleep(10_000)
                }
            }
            guard hasStarted else { throw AccelError(.memory, "the system makes no more threads") }
        }

        func begin(_ task: Task<Void, Never>) { state.withLock { $0.task = task } }
        func end() { state.withLock { $0 = State(task: nil, hasEnded: true) } }
    }
}
