import Accel
import AccelByteIO
import AccelPlatform
import AccelPrograms
import AccelTensors

/// What a plan of runs needs of a session: this processor's, or another backend's.
struct PlanSession {
    let reset: () -> Void
    let states: () throws -> [StoredTensor]
    /// Sets the states that a step sets and runs it, with what the steps before it made, by name.
    let run: (_ step: RunStep, _ made: [String: StoredTensor]) throws -> [StoredTensor]

    /// By this processor, whose session takes steps as they are.
    /// - Parameter functions: those that are to be prepared now.
    init(_ program: ModelPlan, functions: Set<Int>, threads: Int) throws {
        let session = try Session(program, threads: threads)
        for function in functions.sorted() { _ = try session.executor(of: function) }
        reset = { session.states.reset() }
        states = { session.states.copy() }
        run = { try session.run($0, carrying: $1) }
    }

    /// Waits until the backend has loaded the package.
    init(_ backend: any Backend, _ package: AcceleratorPackage, threads: Int) throws {
        let request = BackendRequest(package, threads: threads)
        let model = try Self.awaiting { try await backend.load(request) { _ in } }
        let (functions, session) = (model.functions, try model.makeSession())
        reset = { session.reset() }
        states = { try session.snapshot() }
        run = { step, made in
            if !step.states.isEmpty {
                let others = try session.snapshot().filter { state in
                    !step.states.contains { $0.name == state.name && $0.shape == state.shape }
                }
                try session.restore(others + step.states)
            }
            let function = functions[step.function]
            let outputs = try session.run(function.name, step.inputs(carrying: made) { $0 }, outputs: nil)
            return function.outputs.compactMap { outputs[$0.name] }
        }
    }

    /// What asynchronous work gives, for a command, which is not.
    private static func awaiting<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        let slot = Locked<Swift.Result<Result, any Error>?>(nil)
        Task {
            do {
                let value = try await body()
                slot.withLock { $0 = .success(value) }
            } catch {
                slot.withLock { $0 = .failure(error) }
            }
        }
        // Loading takes milliseconds, so looking every one is as good as being woken.
        while true {
            if let result = slot.withLock({ $0 }) { return try result.get() }
            usleep(1000)
        }
    }
}
