import AccelByteIO
package import AccelCPURuntime
package import AccelTensors

/// The functions of a model over one memory of states, such as the key/value cache of a decoder. Its work runs on a thread of its own;
/// calls of many tasks run one after the other.
///
///     let session = try model.makeSession()
///     for try await token in session.generate(from: [1, 15043], GenerationOptions(maxTokens: 64)) { print(token) }
public actor AccelSession {
    /// The model.
    public nonisolated let model: AccelModel
    private nonisolated let thread = WorkThread()
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private let session: any ModelSession
    /// The tokens whose keys and values the states hold, as far as `generate` has put them there.
    var tokens: [Int64] = []
    /// The tokens that the states hold.
    package var heldTokens: [Int64] { tokens }

    init(of model: AccelModel) throws(AccelError) {
        self.model = model
        session = try model.loaded.makeSession()
    }

    /// The values of the states at one time.
    public struct Snapshot: Sendable {
        let states: [StoredTensor]
        let tokens: [Int64]
        /// The bytes of the values.
        public var byteCount: Int { MachineMemory.sum(states.map(\.bytes.count)) }
    }

    /// Runs a function. Cancelling the task ends the run early. A run that fails or ends early leaves the states as they were.
    /// - Parameter name: as for `AccelModel.function`.
    /// - Throws: `AccelError`: (invalid) or (not found) for an input that does not fit, (cancelled), (timed out), and the backend's.
    public func prediction(
        of name: String, from inputs: AccelFunction.Inputs, options: RunOptions = RunOptions()
    ) async throws(AccelError) -> Outputs {
        let function = try model.function(name).description
        let outputs = try await run(
            function, inputs, options, Cancellation(after: options.timeLimit, or: options.isCancelled))
        // Only `generate` knows which tokens its states hold.
        if !function.states.isEmpty { tokens = [] }
        return outputs
    }

    func run(
        _ function: FunctionDescription, _ inputs: AccelFunction.Inputs, _ options: RunOptions,
        _ cancellation: Cancellation
    ) async throws(AccelError) -> Outputs {
        var stored: [String: StoredTensor] = [:]
        for (name, tensor) in inputs { stored[name] = tensor.stored(name: name) }
        let made = await withTaskCancellationHandler {
            Result { () throws(AccelError) in
                if let error = AccelError(cancellation, at: function.name) { throw error }
                return try model.counting { () throws(AccelError) in
                    try session.run(function.name, stored, outputs: options.outputs, until: cancellation)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
        return Outputs(try made.get(), of: function.name)
    }

    /// Runs a function on tensors in the caller's memory.
    /// - Parameter memory: where the outputs go; those without memory are returned.
    package func run(
        _ function: FunctionDescription, _ inputs: [String: StoredTensor], into memory: [OutputMemory],
        _ options: RunOptions
    ) throws(AccelError) -> [String: StoredTensor] {
        let cancellation = options.cancellation
        if let cancellation, let error = AccelError(cancellation, at: function.name) { throw error }
        let made = try model.counting { () throws(AccelError) in
            try session.run(function.name, inputs, into: memory, until: cancellation)
        }
        if !function.states.isEmpty { tokens = [] }
        return made
    }

    /// Copies the states. It takes as many bytes as the runs so far have touched.
    /// - Throws: `AccelError` of the backend.
    public func snapshot() throws(AccelError) -> Snapshot { Snapshot(states: try session.snapshot(), tokens: tokens) }

    /// Sets the states to those of a snapshot of this model.
    /// - Throws: `AccelError` (not found) for states of another model; then nothing has changed.
    public func restore(_ snapshot: Snapshot) throws(AccelError) {
        try session.restore(snapshot.states)
        tokens = snapshot.tokens
    }

    /// Forgets the tokens from a position on: the next ones go there. Keys and values of later positions are hidden by their
    /// position, so that nothing is copied.
    /// - Parameter position: at most the number of tokens that `generate` has put into the states.
    /// - Throws: `AccelError` (invalid) for a position beyond that.
    public func rewind(to position: Int) throws(AccelError) {
        guard 0...tokens.count ~= position else {
            throw AccelError(
                .invalid, "there are \(tokens.count) tokens; position \(position) is not among them", at: "a session")
        }
        tokens.removeLast(tokens.count - position)
    }

    /// Gives all states their initial values again.
    public func reset() {
        session.reset()
        tokens = []
    }
}
