import AccelPlatform

/// Threads that are never joined, with a stack of 8 MiB on every platform.
package enum DetachedThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread.
    /// - Returns: Whether the system created the thread.
    @discardableResult
    package static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        // Allocated, because more than one module defines the type's initialiser.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(attributes, 8 << 20)
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let body = Unmanaged.passRetained(Body(run))
        let status = pthread_create(
            &thread, attributes,
            { context in
                // Optional on some systems only.
                let body: UnsafeMutableRawPointer? = context
                if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        if status != 0 { body.release() }
        return status == 0
    }
}

extension DetachedThread {
    /// Runs work that blocks on a thread of its own, because it must not hold one of the cooperative pool.
    /// - Throws: the error of the work; `RequestError` (unavailable) if the system makes no more threads.
    package static func value<Value: Sendable>(of work: @escaping @Sendable () throws -> Value) async throws -> Value {
        // The thread has let go of the value when the task gets it: a lock in it ends when the task says so.
        let made = Locked<Result<Value, any Error>?>(nil)
        @Sendable func make() {
            let result = Result { try work() }
            made.withLock { $0 = result }
        }
        await withCheckedContinuation { done in
            let hasStarted = start {
                make()
                done.resume()
            }
            if !hasStarted { done.resume() }
        }
        let result = made.withLock { made in
            defer { made = nil }
            return made
        }
        guard let result else { throw RequestError("the system makes no more threads", status: .unavailable) }
        return try result.get()
    }
}
