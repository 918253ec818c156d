import AccelPlatform

/// Work that one thread takes piece by piece, and waits for where there is none.
package final class WorkQueue<Piece>: @unchecked Sendable {
    // Everything is read and written under the lock.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let hasWork = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var pieces: [Piece] = []
    private var isClosed = false

    /// An empty queue.
    package init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasWork, nil)
    }

    deinit {
        pthread_cond_destroy(hasWork)
        pthread_mutex_destroy(lock)
        hasWork.deallocate()
        lock.deallocate()
    }

    /// Adds a piece after all others.
    package func add(_ piece: Piece) {
        pthread_mutex_lock(lock)
        pieces.append(piece)
        pthread_cond_signal(hasWork)
        pthread_mutex_unlock(lock)
    }

    /// Says that no more comes: `next` returns nil once nothing is left.
    package func close() {
        pthread_mutex_lock(lock)
        isClosed = true
        pthread_cond_signal(hasWork)
        pthread_mutex_unlock(lock)
    }

    /// Waits for the next piece; nil once the queue is closed and nothing is left, after which it is open again.
    package func next() -> Piece? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while pieces.isEmpty {
            if isClosed {
                isClosed = false
                return nil
            }
            pthread_cond_wait(hasWork, lock)
        }
        return pieces.removeFirst()
    }
}
