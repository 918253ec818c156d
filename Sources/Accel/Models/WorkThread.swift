import AccelByteIO

/// A thread that makes one piece of work after the other, so that work that blocks does not hold a thread of Swift's pool. It
/// starts with the first piece, and ends with this value.
final class WorkThread: SerialExecutor {
    // The thread keeps the queue, and not this value.
    private let queue = WorkQueue<@Sendable () -> Void>()
    private let isRunning = Locked(false)

    deinit { queue.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        run { job.runSynchronously(on: executor) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Makes `work` after all that came before.
    func run(_ work: @escaping @Sendable () -> Void) {
        let queue = queue
        let hasThread = isRunning.withLock { isRunning in
            if !isRunning { isRunning = DetachedThread.start { while let next = queue.next() { next() } } }
            return isRunning
        }
        // Without a thread, the work is made by the caller: late, but it is made.
        if hasThread { queue.add(work) } else { work() }
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
}
