import AccelByteIO

/// The current version of a stored model, through updates and rollbacks. It may be used by any number of tasks while versions change:
/// every prediction runs on one version, from its beginning to its end. A version is freed when its last prediction and its last
/// session have ended.
///
///     let live = try await store.live("classifier")
///     let classify = try live.function("model")
///     let outputs = try await classify(["x": tensor])
public final class LiveModel: Sendable {
    /// The name of the model in the store.
    public let name: String
    private struct State {
        var model: AccelModel
        /// The functions that updates have to serve.
        var asked: [FunctionDescription] = []
        /// The functions of the version that is about to become current.
        var next: [FunctionDescription]?
        var changes: [Int: AsyncStream<AccelModel>.Continuation] = [:]
        var streams = 0
    }
    private let state: Locked<State>

    init(_ name: String, _ model: AccelModel) {
        self.name = name
        state = Locked(State(model: model))
    }

    deinit { state.withLock { state in for stream in state.changes.values { stream.finish() } } }

    /// The current version. It stays usable after the next one comes.
    public var model: AccelModel { state.withLock { $0.model } }

    /// The versions that become current from now on. The newest one is kept for a reader that is late.
    public var changes: AsyncStream<AccelModel> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                state.streams += 1
                state.changes[state.streams] = continuation
                return state.streams
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.changes.removeValue(forKey: number) }
            }
        }
    }

    /// A function of whatever version is current when it is called. Updates to a version without this function, with other inputs, or
    /// without its outputs are rejected while the handle lives.
    /// - Parameters: as for `AccelModel.function`.
    /// - Throws: as `AccelModel.function` does.
    public func function(_ name: String, shape: [String: Int]? = nil) throws(AccelError) -> LiveFunction {
        let description = try state.withLock { (state) throws(AccelError) -> FunctionDescription in
            let description = try state.model.functions.function(name, shape: shape)
            if let next = state.next { try next.checkServing([description]) }
            if !state.asked.contains(description) { state.asked.append(description) }
            return description
        }
        return LiveFunction(description: description, live: self)
    }

    /// The functions that the app has asked for.
    var asked: [FunctionDescription] { state.withLock { $0.asked } }

    /// Checks that a version serves what was asked for, and will go on doing so until it is current.
    func prepare(for functions: [FunctionDescription]) throws(AccelError) {
        try state.withLock { (state) throws(AccelError) in
            try functions.checkServing(state.asked)
            state.next = functions
        }
    }

    func endChange() { state.withLock { $0.next = nil } }

    func replace(_ model: AccelModel) {
        let (streams, old) = state.withLock { state in
            let old = state.model
            state.model = model
            return (Array(state.changes.values), old)
        }
        // Freed outside of the lock.
        withExtendedLifetime(old) { for stream in streams { stream.yield(model) } }
    }
}

/// A function of the current version of a stored model.
public struct LiveFunction: Sendable {
    /// The name, the inputs and the outputs. Updates keep them; they may add outputs.
    public let description: FunctionDescription
    private let live: LiveModel

    init(description: FunctionDescription, live: LiveModel) { (self.description, self.live) = (description, live) }

    /// Runs the function on the current version; as `AccelFunction.prediction`.
    /// - Throws: as `AccelFunction.prediction` does.
    public func prediction(
        from inputs: AccelFunction.Inputs, options: RunOptions = RunOptions()
    ) async throws(AccelError) -> Outputs {
        try await live.model.function(description.name).prediction(from: inputs, options: options)
    }

    /// Runs the function on the current version.
    public func callAsFunction(_ inputs: AccelFunction.Inputs) async throws(AccelError) -> Outputs {
        try await prediction(from: inputs)
    }
}

/// A handle of a store. It is released with its last user.
struct WeakLiveModel: Sendable {
    private let state: Reference

    init(_ live: LiveModel) { state = Reference(live) }

    var value: LiveModel? { state.live }

    private final class Reference: Sendable {
        weak let live: LiveModel?
        init(_ live: LiveModel) { self.live = live }
    }
}
