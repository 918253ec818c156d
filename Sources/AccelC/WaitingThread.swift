import Accel
import AccelByteIO

/// Runs asynchronous work on the thread that waits for it: no other thread is needed, so that callbacks may wait, too.
final class WaitingThread: TaskExecutor {
    private let jobs = WorkQueue<UnownedJob>()

    /// Those that nobody waits in. They are never freed: who has given the last job may still be about to leave the lock.
    private static let idle = Locked<[WaitingThread]>([])

    func enqueue(_ job: consuming ExecutorJob) { jobs.add(UnownedJob(job)) }

    private func drain() {
        let executor = asUnownedTaskExecutor()
        while let job = jobs.next() { job.runSynchronously(on: executor) }
    }

    /// Returns what `body` returns.
    static func wait<Success: Sendable>(
        for body: @escaping @Sendable () async throws(AccelError) -> Success
    ) throws(AccelError) -> Success {
        let thread = idle.withLock { $0.popLast() } ?? WaitingThread()
        defer { idle.withLock { $0.append(thread) } }
        let result = Locked<Result<Success, AccelError>>(
            .failure(AccelError(.internalFailure, "the work ended without a result", at: "")))
        Task(executorPreference: thread) {
            let made: Result<Success, AccelError>
            do throws(AccelError) { made = .success(try await body()) } catch { made = .failure(error) }
            result.withLock { $0 = made }
            thread.jobs.close()
        }
        thread.drain()
        return try result.withLock { $0 }.get()
    }
}
