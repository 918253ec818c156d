import AccelByteIO
package import AccelCPURuntime
package import AccelTensors

/// A function of a model. It may be called by many tasks and threads at a time: as many run as the configuration's `concurrency`
/// says, and the others wait. Each call has the initial values of states; for states that stay, make an `AccelSession`.
public struct AccelFunction: Sendable {
    /// Inputs by name.
    public typealias Inputs = [String: AccelTensor]

    private typealias Made = Result<[String: StoredTensor], AccelError>

    /// The name, the inputs and the outputs.
    public let description: FunctionDescription
    /// The model.
    public let model: AccelModel

    init(_ description: FunctionDescription, of model: AccelModel) {
        (self.description, self.model) = (description, model)
    }

    /// Runs the function on a thread that is not the caller's. Cancelling the task ends the run early.
    /// - Throws: `AccelError`: (invalid) or (not found) for an input that does not fit, (cancelled), (timed out), and the backend's.
    public func prediction(
        from inputs: Inputs, options: RunOptions = RunOptions()
    ) async throws(AccelError) -> Outputs {
        let stored = try checked(inputs, options)
        let cancellation = Cancellation(after: options.timeLimit)
        let pool = model.pool
        let limit = options.timeLimit.map { limit in
            Task {
                // A call that waits looks at no clock.
                try await Task.sleep(for: limit)
                pool.wake()
            }
        }
        defer { limit?.cancel() }
        // Under a lock, since the thread sanitizer does not see how the runtime of tasks hands a result over.
        let result = Locked(Made.success([:]))
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pool.lend(until: cancellation) { lent in
                    switch lent {
                    case .failure(let error):
                        result.withLock { $0 = .failure(error) }
                        continuation.resume()
                    case .success(let session):
                        session.thread.run {
                            let made = run(stored, options, in: session, cancellation)
                            pool.giveBack(session)
                            result.withLock { $0 = made }
                            continuation.resume()
                        }
                    }
                }
            }
        } onCancel: {
            cancellation.cancel()
            pool.wake()
        }
        return Outputs(try result.withLock { $0 }.get(), of: description.name)
    }

    /// Runs the function on a thread that is not the caller's; `prediction(from:options:)` says how.
    public func callAsFunction(_ inputs: Inputs) async throws(AccelError) -> Outputs {
        try await prediction(from: inputs)
    }

    /// Runs the function, and waits for it on the caller's thread: not for use in a task.
    /// - Throws: as the other one does, but for (cancelled).
    @available(*, noasync, message: "use the asynchronous prediction(from:options:) in tasks")
    public func prediction(from inputs: Inputs, options: RunOptions = RunOptions()) throws(AccelError) -> Outputs {
        let stored = try checked(inputs, options)
        let cancellation = Cancellation(after: options.timeLimit, or: options.isCancelled)
        return try lending(options, cancellation) { session throws(AccelError) in
            Outputs(try run(stored, options, in: session, cancellation).get(), of: description.name)
        }
    }

    /// Runs the function on tensors in the caller's memory, and waits for it on the caller's thread.
    /// - Parameter memory: where the outputs go; those without memory are returned.
    @available(*, noasync, message: "it waits")
    package func run(
        _ inputs: [String: StoredTensor], into memory: [OutputMemory], _ options: RunOptions
    ) throws(AccelError) -> [String: StoredTensor] {
        try description.check(inputs, outputs: Set(memory.map(\.name)))
        let cancellation = options.cancellation
        return try lending(options, cancellation ?? Cancellation()) { session throws(AccelError) in
            try model.counting { () throws(AccelError) in
                try session.session.run(description.name, inputs, into: memory, until: cancellation)
            }
        }
    }

    /// Waits for a session of the pool.
    private func lending<Result>(
        _ options: RunOptions, _ cancellation: Cancellation,
        _ body: (PooledSession) throws(AccelError) -> Result
    ) throws(AccelError) -> Result {
        let lent = Awaited<SessionPool.Lent>()
        model.pool.lend(until: cancellation) { lent.set($0) }
        let session = try lent.value(timeLimit: options.timeLimit, or: options.isCancelled) { model.pool.wake() }.get()
        defer { model.pool.giveBack(session) }
        return try body(session)
    }

    private func run(
        _ inputs: [String: StoredTensor], _ options: RunOptions, in session: PooledSession, _ cancellation: Cancellation
    ) -> Made {
        do throws(AccelError) {
            return .success(
                try model.counting { () throws(AccelError) in
                    try session.session.run(description.name, inputs, outputs: options.outputs, until: cancellation)
                })
        } catch let error {
            return .failure(error)
        }
    }

    /// Before anything waits.
    private func checked(_ inputs: Inputs, _ options: RunOptions) throws(AccelError) -> [String: StoredTensor] {
        var stored: [String: StoredTensor] = [:]
        for (name, tensor) in inputs { stored[name] = tensor.stored(name: name) }
        try description.check(stored, outputs: options.outputs)
        return stored
    }
}
