/// The time limit of several runs together.
struct Deadline: Sendable {
    private let limit: Duration?
    private var end: ContinuousClock.Instant?

    /// - Parameter limit: the time from the start; nil for no limit.
    init(after limit: Duration? = nil) { self.limit = limit }

    /// Returns a deadline whose time has begun.
    static func started(after limit: Duration?) -> Deadline {
        var deadline = Deadline(after: limit)
        deadline.start()
        return deadline
    }

    /// Begins the time, unless it has begun.
    mutating func start() {
        if end == nil { end = limit.map { ContinuousClock.now + $0 } }
    }

    /// The time for the next run; nil for no limit.
    var left: Duration? { end.map { max($0 - ContinuousClock.now, .zero) } }

    /// - Throws: `AccelError`: (cancelled) once the task is cancelled, (timed out) once the time is over.
    func check(at location: String) throws(AccelError) {
        if Task.isCancelled { throw AccelError(.cancelled, "was cancelled", at: location) }
        if let left, left <= .zero { throw AccelError(timedOutAt: location) }
    }
}

extension AccelError {
    /// The error of work whose time limit was over first.
    init(timedOutAt location: String) { self.init(.timedOut, "took longer than its time limit", at: location) }
}
