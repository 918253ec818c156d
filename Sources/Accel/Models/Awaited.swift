import AccelPlatform

/// A value that another thread sets, for a thread that waits.
final class Awaited<Value: Sendable>: @unchecked Sendable {
    // The value is read and written under the lock.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let isSet = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var content: Value?

    init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(isSet, nil)
    }

    deinit {
        pthread_cond_destroy(isSet)
        pthread_mutex_destroy(lock)
        isSet.deallocate()
        lock.deallocate()
    }

    func set(_ value: Value) {
        pthread_mutex_lock(lock)
        content = value
        pthread_cond_signal(isSet)
        pthread_mutex_unlock(lock)
    }

    /// Waits for the value.
    /// - Parameters:
    ///   - isCancelled: is asked every 10 ms; nil if nothing but the time ends the wait.
    ///   - late: is called once the time limit is over, or `isCancelled` is true; it has to see to it that the value comes.
    func value(timeLimit: Duration?, or isCancelled: (() -> Bool)? = nil, late: () -> Void) -> Value {
        var isLate = false
        let end = timeLimit.map { ContinuousClock.now + $0 }
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let content { return content }
            guard !isLate, end != nil || isCancelled != nil else {
                pthread_cond_wait(isSet, lock)
                continue
            }
            let left = end.map { $0 - .now } ?? .seconds(1)
            var next = Self.time(after: isCancelled == nil ? left : min(left, .milliseconds(10)))
            guard pthread_cond_timedwait(isSet, lock, &next) == ETIMEDOUT else { continue }
            if end.map({ ContinuousClock.now >= $0 }) ?? false || isCancelled?() ?? false {
                isLate = true
                pthread_mutex_unlock(lock)
                late()
                pthread_mutex_lock(lock)
            }
        }
    }

    /// The time of the clock that conditions use.
    private static func time(after limit: Duration) -> timespec {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let (seconds, attoseconds) = limit.components
        // A limit of more than a century is none.
        var time = timespec(
            tv_sec: now.tv_sec + Int(min(max(seconds, 0), 1 << 32)),
            tv_nsec: now.tv_nsec + Int(max(attoseconds, 0) / 1_000_000_000))
        if time.tv_nsec >= 1_000_000_000 {
            time.tv_nsec -= 1_000_000_000
            time.tv_sec += 1
        }
        return time
    }
}
