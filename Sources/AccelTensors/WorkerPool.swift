import AccelByteIO
import AccelPlatform
import Synchronization

/// The indices of one `Parallel.forEach`, and the threads that work on them.
final class ParallelJob: @unchecked Sendable {
    private let count: Int
    private let next = Atomic<Int>(0)
    private let failure = Locked<(index: Int, error: any Error)?>(nil)
    /// Set to nil when the job is done, because the closure must not outlive the call.
    private var body: (@Sendable (Int) throws -> Void)?
    /// Protected by the pool's lock: the number of helpers that may still join, and of those at work.
    var openSlots = 0
    var helpersAtWork = 0

    init(count: Int, body: @escaping @Sendable (Int) throws -> Void) {
        self.count = count
        self.body = body
    }

    /// Takes indices until none is left. Not inlined, so that after its return only the job holds the closure.
    @inline(never)
    func work() {
        guard let body else { return }
        while true {
            let index = next.add(1, ordering: .relaxed).oldValue
            guard index < count else { return }
            do {
                try body(index)
            } catch {
                // All indices below this one are taken already, so the lowest failure is among those at work.
                next.store(count, ordering: .relaxed)
                failure.withLock { known in
                    if index < known?.index ?? Int.max { known = (index, error) }
                }
            }
        }
    }

    /// Lets no more indices be taken. Those at work are finished.
    func skipRest() { next.store(count, ordering: .relaxed) }

    func takeFailure() -> (any Error)? { failure.withLock { $0?.error } }
    func dropBody() { body = nil }
}

/// Threads that wait for jobs. They start when first needed, and live as long as the process.
final class WorkerPool: @unchecked Sendable {
    static let shared = WorkerPool()

    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Signalled when a job accepts helpers.
    private let jobArrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Signalled when a helper leaves a job.
    private let helperLeft = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [ParallelJob] = []
    private var idleThreads = 0

    private init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(jobArrived, nil)
        pthread_cond_init(helperLeft, nil)
    }

    /// Runs `job` on this thread and up to `helpers` others; returns when the job is done.
    /// - Parameter first: runs on this thread before it joins.
    func run(_ job: ParallelJob, helpers: Int, after first: () -> Void = {}) {
        pthread_mutex_lock(lock)
        job.openSlots = helpers
        jobs.append(job)
        let missing = jobs.reduce(0) { $0 + $1.openSlots } - idleThreads
        pthread_cond_broadcast(jobArrived)
        pthread_mutex_unlock(lock)
        for _ in 0..<max(0, min(missing, helpers)) { startThread() }

        first()
        job.work()

        pthread_mutex_lock(lock)
        jobs.removeAll { $0 === job }
        while job.helpersAtWork > 0 { pthread_cond_wait(helperLeft, lock) }
        pthread_mutex_unlock(lock)
        job.dropBody()
    }

    /// If a thread cannot be created, the job has one helper fewer.
    private func startThread() { DetachedThread.start { WorkerPool.shared.help() } }

    private func help() -> Never {
        pthread_mutex_lock(lock)
        while true {
            guard let job = jobs.first(where: { $0.openSlots > 0 }) else {
                idleThreads += 1
                pthread_cond_wait(jobArrived, lock)
                idleThreads -= 1
                continue
            }
            job.openSlots -= 1
            job.helpersAtWork += 1
            pthread_mutex_unlock(lock)
            job.work()
            pthread_mutex_lock(lock)
            job.helpersAtWork -= 1
            pthread_cond_broadcast(helperLeft)
        }
    }
}

func systemProcessorCount() -> Int {
    max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
}
