import Accel
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// The operations of a session that planned runs use, on this processor or on another backend.
struct PlanSession {
    let reset: () -> Void
    let states: () throws -> [StoredTensor]
    /// The memory of the session so far; nil for other backends.
    let memory: () -> SessionMemory?
    /// Sets the states of a step, runs it, and returns the requested outputs; `made` has the results of earlier steps by name.
    let run: (_ step: RunStep, _ made: [String: StoredTensor], _ requested: RequestedOutputs) throws -> [StoredTensor]

    /// Creates a session on this processor, which runs steps directly.
    /// - Parameters:
    ///   - functions: the functions to prepare now.
    ///   - profile: gets the calls of each run.
    init(
        _ program: ModelPlan, functions: Set<Int>, packed: PackedWeights? = nil, threads: Int,
        profile: RunProfile? = nil
    ) throws {
        let session = try Session(program, packed: packed, threads: threads)
        for function in functions.sorted() { _ = try session.executor(of: function) }
        reset = { session.states.reset() }
        states = { session.states.copy() }
        memory = {
            SessionMemory(
                arena: session.arenaBytes, states: session.states.byteCount, decodedWeights: session.decodedBytes)
        }
        run = { step, made, requested in
            let outputs = try session.run(step, carrying: made, requesting: requested)
            try profile?.add(session.executor(of: step.function), of: step.function)
            return outputs
        }
    }

    /// Creates a session on a backend. Waits until the backend has loaded the package.
    init(_ backend: any Backend, _ package: AcceleratorPackage, threads: Int) throws {
        let request = BackendRequest(package, threads: threads)
        let model = try waiting { try await backend.load(request) { _ in } }
        let (functions, session) = (model.functions, try model.makeSession())
        reset = { session.reset() }
        states = { try session.snapshot() }
        memory = { nil }
        run = { step, made, requested in
            if !step.states.isEmpty {
                let others = try session.snapshot().filter { state in
                    !step.states.contains { $0.name == state.name && $0.shape == state.shape }
                }
                try session.restore(others + step.states)
            }
            let function = functions[step.function]
            // A backend may want at least one output.
            let names = requested.allNames.isEmpty ? Set(function.outputs.prefix(1).map(\.name)) : requested.allNames
            let outputs = try session.run(function.name, step.inputs(carrying: made) { $0 }, outputs: names)
            return requested.reduced(function.outputs.compactMap { outputs[$0.name] })
        }
    }
}
