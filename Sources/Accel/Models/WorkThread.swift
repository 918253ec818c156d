import AccelByteIO
import AccelPlatform

/// A thread that makes one piece of work after the other, so that work that blocks does not hold a thread of Swift's pool. It
/// starts with the first piece, and ends with this value.
final class WorkThread: SerialExecutor {
    private let queue = Queue()

    deinit { queue.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        run { job.runSynchronously(on: executor) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Makes `work` after all that came before.
    func run(_ work: @escaping @Sendable () -> Void) {
        // Without a thread, the work is made by the caller: late, but it is made.
        if !queue.add(work) { work() }
    }

    /// Runs the jobs of a task, in place of Swift's pool.
    final class ForTasks: TaskExecutor {
        private let thread = WorkThread()

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let executor = asUnownedTaskExecutor()
            thread.run { job.runSynchronously(on: executor) }
        }
    }

    /// What the thread has to do. The thread keeps it, and not the `WorkThread`.
    private final class Queue: @unchecked Sendable {
        // Everything is read and written under the lock.
        private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let hasWork = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private var work: [@Sendable () -> Void] = []
        private var (isRunning, isClosed) = (false, false)

        init() {
            pthread_mutex_init(lock, nil)
            pthread_cond_init(hasWork, nil)
        }

        deinit {
            pthread_cond_destroy(hasWork)
            pthread_mutex_destroy(lock)
            hasWork.deallocate()
            lock.deallocate()
        }

        /// - Returns: false if there is no thread, and the system makes none.
        func add(_ new: @escaping @Sendable () -> Void) -> Bool {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            if !isRunning { isRunning = DetachedThread.start { self.loop() } }
            guard isRunning else { return false }
            work.append(new)
            pthread_cond_signal(hasWork)
            return true
        }

        func close() {
            pthread_mutex_lock(lock)
            isClosed = true
            pthread_cond_signal(hasWork)
            pthread_mutex_unlock(lock)
        }

        private func loop() {
            while let next = take() { next() }
        }

        /// The next piece of work; nil at the end.
        private func take() -> (@Sendable () -> Void)? {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            while work.isEmpty {
                if isClosed { return nil }
                pthread_cond_wait(hasWork, lock)
            }
            return work.removeFirst()
        }
    }
}
