import Accel
import AccelByteIO
import AccelPlatform

/// Runs asynchronous work on the thread that waits for it: no other thread is needed, so that callbacks may wait, too.
final class WaitingThread: TaskExecutor, @unchecked Sendable {
    // Everything is read and written under the lock.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let hasWork = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    private var isDone = false

    /// Those that nobody waits in. They are never freed: who has given the last job may still be about to leave the lock.
    private static let idle = Locked<[WaitingThread]>([])

    private init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasWork, nil)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(lock)
        jobs.append(job)
        pthread_cond_signal(hasWork)
        pthread_mutex_unlock(lock)
    }

    private func finish() {
        pthread_mutex_lock(lock)
        isDone = true
        pthread_cond_signal(hasWork)
        pthread_mutex_unlock(lock)
    }

    /// The next job; nil once the work is done and nothing is left of it.
    private func next() -> UnownedJob? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while jobs.isEmpty {
            if isDone { return nil }
            pthread_cond_wait(hasWork, lock)
        }
        return jobs.removeFirst()
    }

    private func drain() {
        let executor = asUnownedTaskExecutor()
        while let job = next() { job.runSynchronously(on: executor) }
        isDone = false
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
            thread.finish()
        }
        thread.drain()
        return try result.withLock { $0 }.get()
    }
}
