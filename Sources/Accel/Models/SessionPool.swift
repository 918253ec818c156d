import AccelByteIO

/// A session of a backend with the thread that it runs on. One call at a time has it.
final class PooledSession: @unchecked Sendable {
    // The pool lends it to one call at a time.
    let session: any ModelSession
    let thread = WorkThread()

    init(_ session: any ModelSession) { self.session = session }
}

/// The sessions of a model that functions without a session of their own run in: at most so many, made when they are needed.
/// Who comes while all are in use waits, in order.
final class SessionPool: Sendable {
    typealias Lent = Result<PooledSession, AccelError>
    private struct Waiter {
        let cancellation: Cancellation
        let resume: @Sendable (Lent) -> Void
    }
    private struct State {
        var idle: [PooledSession] = []
        /// Sessions that exist, lent or idle.
        var count = 0
        var waiters: [Waiter] = []
    }

    private let model: any LoadedModel
    let most: Int
    private let state = Locked(State())

    init(of model: any LoadedModel, atMost most: Int) { (self.model, self.most) = (model, max(most, 1)) }

    /// Lends a session. It has to be given back.
    /// - Parameters:
    ///   - cancellation: ends the wait; `wake` has to be called after it.
    ///   - resume: is called once, on any thread.
    func lend(until cancellation: Cancellation, _ resume: @escaping @Sendable (Lent) -> Void) {
        enum Step { case end(AccelError), take(PooledSession), make, wait }
        let step = state.withLock { state -> Step in
            // Asked under the lock: a `wake` that comes later finds the waiter.
            if let error = AccelError(cancellation) { return .end(error) }
            if let session = state.idle.popLast() { return .take(session) }
            if state.count < most {
                state.count += 1
                return .make
            }
            state.waiters.append(Waiter(cancellation: cancellation, resume: resume))
            return .wait
        }
        switch step {
        case .end(let error): resume(.failure(error))
        case .take(let session): resume(.success(session))
        case .make: make(for: resume)
        case .wait: break
        }
    }

    private func make(for resume: @Sendable (Lent) -> Void) {
        do throws(AccelError) {
            resume(.success(PooledSession(try model.makeSession())))
        } catch let error {
            // The slot in the pool is free again: a waiter may take it, too.
            let next = state.withLock { state -> Waiter? in
                state.count -= 1
                guard !state.waiters.isEmpty else { return nil }
                state.count += 1
                return state.waiters.removeFirst()
            }
            resume(.failure(error))
            if let next { make(for: next.resume) }
        }
    }

    /// Takes a session back, with its states at their initial values.
    func giveBack(_ session: PooledSession) {
        session.session.reset()
        let next = state.withLock { state -> Waiter? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            state.idle.append(session)
            return nil
        }
        next?.resume(.success(session))
    }

    /// Ends the waits that were cancelled or whose time is over.
    func wake() {
        let ended = state.withLock { state -> [Waiter] in
            // Each is asked once: a second answer may be another one, and a waiter would be neither ended nor kept.
            var (ended, waiting): ([Waiter], [Waiter]) = ([], [])
            for waiter in state.waiters {
                if waiter.cancellation.isCancelled { ended.append(waiter) } else { waiting.append(waiter) }
            }
            state.waiters = waiting
            return ended
        }
        for waiter in ended {
            waiter.resume(.failure(AccelError(waiter.cancellation) ?? AccelError(.cancelled, "was cancelled")))
        }
    }

    /// Frees the sessions that are not in use.
    func trim() {
        let freed = state.withLock { state -> [PooledSession] in
            defer { state.idle = [] }
            state.count -= state.idle.count
            return state.idle
        }
        _ = freed
    }

    /// The sessions that exist.
    var count: Int { state.withLock { $0.count } }
}

extension AccelError {
    /// The error of work that had to end early; nil if it may go on.
    init?(_ cancellation: Cancellation, at location: String = "") {
        do {
            try cancellation.check()
            return nil
        } catch {
            self.init(error, at: location)
        }
    }
}
