import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

extension BackendID {
    /// The CPU.
    public static let cpu = BackendID(rawValue: "cpu")
}

/// Runs models on the CPU. It supports every package whose execution plan fits into memory.
public struct CPUBackend: Backend {
    public let id = BackendID.cpu

    /// The backend has no settings.
    public init() {}

    public func assess(_ request: BackendRequest) async -> Assessment {
        do {
            let (_, bytes) = try planned(request)
            return .suitable(priority: .processor, notes: ["\(bytes) bytes of values and states"])
        } catch {
            return .unsuitable(reason: AccelError(error, at: "").problem)
        }
    }

    public func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        do {
            let model = PreparedModel(try planned(request).program)
            for index in model.program.functions.indices {
                try Task.checkCancellation()
                progress(.preparing(Double(index) / Double(model.program.functions.count)))
                try model.prepare(index)
            }
            progress(.ready)
            return CPUModel(
                model: model, functions: request.package.graph.functions.map(FunctionDescription.init),
                threads: request.threads)
        } catch {
            throw AccelError(error, at: request.package.path)
        }
    }

    /// Returns the execution plans and the bytes of a session. Fails if these exceed the memory limit.
    private func planned(_ request: BackendRequest) throws -> (program: ModelPlan, byteCount: Int) {
        let program = try request.planned()
        let states = try StateMemory(program).byteCount
        let needed = MachineMemory.sum([states, program.functions.map(\.arenaBytes).max() ?? 0])
        if let limit = request.memoryLimit, needed > limit {
            throw AccelError(
                .memory, "a session needs \(needed) bytes for values and states; the limit is \(limit)",
                at: request.package.path)
        }
        try MachineMemory.require(needed, for: "a session")
        return (program, needed)
    }
}

private struct CPUModel: LoadedModel {
    let model: PreparedModel
    let functions: [FunctionDescription]
    let threads: Int

    func makeSession() throws(AccelError) -> any ModelSession {
        do {
            return CPUSession(try Session(model, threads: threads), functions)
        } catch {
            throw AccelError(error, at: "a session")
        }
    }

    func plan(of function: String) throws(AccelError) -> ComputePlan? {
        let index = try functions.index(named: function)
        do {
            return try ComputePlan(model.program, function: index, threads: threads)
        } catch {
            throw AccelError(error, at: function)
        }
    }
}

private final class CPUSession: ModelSession {
    private let session: Session
    private let functions: [FunctionDescription]

    init(_ session: Session, _ functions: [FunctionDescription]) {
        (self.session, self.functions) = (session, functions)
    }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        let index = try functions.index(named: function)
        try functions[index].check(inputs, outputs: outputs)
        do {
            let made = try session.run(index, inputs, until: cancellation).filter { outputs?.contains($0.name) ?? true }
            return Dictionary(made.map { ($0.name, $0) }) { first, _ in first }
        } catch {
            throw AccelError(error, at: function)
        }
    }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], into memory: [OutputMemory],
        until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        let index = try functions.index(named: function)
        try functions[index].check(inputs, outputs: Set(memory.map(\.name)))
        try functions[index].check(memory)
        do {
            let made = try session.run(index, inputs, into: memory, until: cancellation)
            return Dictionary(made.map { ($0.name, $0) }) { first, _ in first }
        } catch {
            throw AccelError(error, at: function)
        }
    }

    func snapshot() throws(AccelError) -> [StoredTensor] { session.states.copy() }

    func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
        do { try session.states.restore(snapshot) } catch { throw AccelError(error, at: "a snapshot") }
    }

    func reset() { session.states.reset() }
}
