import AccelByteIO

/// Parallel loops. Results are stored by index, so they do not depend on timing.
///
/// The calling thread takes part, and never waits for a thread that has not started. So calls may be nested, and may
/// come from any thread or task.
public enum Parallel {
    /// Calls `body` once for each of `0..<count`, on up to `threads` threads. Throws the error of the lowest failing
    /// index; indices above a failed one may be skipped.
    public static func forEach(_ count: Int, threads: Int, _ body: @Sendable (Int) throws -> Void) throws {
        guard count > 1, threads > 1 else {
            for index in 0..<max(count, 0) { try body(index) }
            return
        }
        try withoutActuallyEscaping(body) { body in
            let job = ParallelJob(count: count, body: body)
            WorkerPool.shared.run(job, helpers: min(threads, count) - 1)
            if let failure = job.takeFailure() { throw failure }
        }
    }

    /// Calls `body` for each of `0..<count` in parallel, and returns the results in order.
    public static func map<Result: Sendable>(
        _ count: Int, threads: Int, _ body: @Sendable (Int) throws -> Result
    ) throws -> [Result] {
        guard count > 0 else { return [] }
        // Completely filled unless an error is thrown; each element is written once.
        let results = ResultSlots<Result>(count: count)
        try forEach(count, threads: threads) { results.fill($0, with: try body($0)) }
        return results.take()
    }

    /// Calls `body` for each of `0..<count` in parallel, and returns the results in order. The calling thread takes no
    /// part: it reports each index soon after it is done, so that long work shows its progress.
    /// - Parameter report: called on the calling thread, once for each index, in the order in which they are done.
    ///   After an error of it no index is begun, and the error is thrown.
    package static func map<Result: Sendable>(
        _ count: Int, threads: Int, reporting report: (_ index: Int) throws -> Void,
        _ body: @Sendable (Int) throws -> Result
    ) throws -> [Result] {
        guard count > 1, threads > 1 else {
            return try (0..<max(count, 0)).map { index in
                let result = try body(index)
                try report(index)
                return result
            }
        }
        let results = ResultSlots<Result>(count: count)
        try withoutActuallyEscaping(body) { body in
            let done = WorkQueue<Int>()
            let job = ParallelJob(count: count) { index in
                results.fill(index, with: try body(index))
                done.add(index)
            }
            let work: @Sendable () -> Void = {
                // Drops the job's closure, which must not outlive the call, before the queue is closed.
                WorkerPool.shared.run(job, helpers: min(threads, count) - 1)
                done.close()
            }
            // Where the system makes no more threads, the indices are reported at the end.
            if !DetachedThread.start(work) { work() }
            var failure: (any Error)?
            while let index = done.next() {
                if failure != nil { continue }
                do {
                    try report(index)
                } catch {
                    failure = error
                    job.skipRest()
                }
            }
            if let failure = failure ?? job.takeFailure() { throw failure }
        }
        return results.take()
    }

    /// Runs `other` on a second thread, if threads allow, while this thread runs `body`. An error of `body` takes
    /// precedence over one of `other`.
    public static func alongside<Result, Other: Sendable>(
        threads: Int, _ other: @Sendable () throws -> Other, _ body: () throws -> Result
    ) throws -> (Result, Other) {
        let slots = ResultSlots<Other>(count: 1)
        let result = try running({ _ in slots.fill(0, with: try other()) }, helpers: threads > 1 ? 1 : 0, body)
        // Filled, because nothing was thrown.
        return (result, slots.take()[0])
    }

    private static func running<Result>(
        _ other: @Sendable (Int) throws -> Void, helpers: Int, _ body: () throws -> Result
    ) throws -> Result {
        try withoutActuallyEscaping(other) { other in
            let job = ParallelJob(count: 1, body: other)
            var result: Swift.Result<Result, any Error>?
            WorkerPool.shared.run(job, helpers: helpers) { result = Swift.Result(catching: body) }
            guard let result else { throw CancellationError() }
            let value = try result.get()
            if let failure = job.takeFailure() { throw failure }
            return value
        }
    }

    /// The number of processors that this process may use.
    public static var processorCount: Int { processorLimit ?? systemProcessorCount() }

    /// The number of processors of a run within a process, in place of those of the system.
    @TaskLocal package static var processorLimit: Int?
}

private final class ResultSlots<Result>: @unchecked Sendable {
    private let slots: UnsafeMutableBufferPointer<Result?>

    init(count: Int) {
        slots = .allocate(capacity: count)
        slots.initialize(repeating: nil)
    }

    deinit {
        slots.deinitialize()
        slots.deallocate()
    }

    func fill(_ index: Int, with result: Result) { slots[index] = result }
    func take() -> [Result] { slots.compactMap { $0 } }
}
