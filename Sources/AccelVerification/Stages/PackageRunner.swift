import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// Runs the functions of a verification's subject, each run from its own initial states.
final class PackageRunner {
    private let program: ModelPlan
    private let threads: Int
    private var session: Session?

    init(_ program: ModelPlan, threads: Int) {
        self.program = program
        self.threads = threads
    }

    /// - Throws: `RequestError` (unavailable) if the states or a function's values do not fit into memory, before any
    ///   computation.
    static func requireMemory(for program: ModelPlan) throws {
        _ = try Session(program, threads: 1)
        for function in program.functions {
            try MachineMemory.require(function.arenaBytes, for: "function \(function.name)")
        }
    }

    private func open() throws -> Session {
        if let session { return session }
        let new = try Session(program, threads: threads)
        session = new
        return new
    }

    /// Runs a whole function. `observe` gets each call's index and results.
    /// - Returns: the outputs and the function's states after the run, by name.
    func run(
        _ function: Int, _ feed: FunctionFeed, observe: ((Int, [HostTensor]) throws -> Void)? = nil
    ) throws -> [String: HostTensor] {
        func stored(_ tensors: [String: HostTensor]) -> [String: StoredTensor] {
            Dictionary(uniqueKeysWithValues: tensors.map { ($0.key, $0.value.stored(name: $0.key)) })
        }
        let session = try open()
        let types = Dictionary(program.functions[function].states.map { ($0.name, $0.elementType) }) { first, _ in first
        }
        let states = feed.states.map { ($0, types[$0].map($1.converted) ?? $1) }
        try session.states.restore(states.map { $1.stored(name: $0) })
        let step = observe.map { observe in
            { (step: Executor.Step) in try observe(step.index, step.outputs.map(HostTensor.init)) }
        }
        var results = try session.executor(of: function).run(stored(feed.inputs), observe: step)
        results += program.functions[function].states.compactMap(session.states.value)
        return Dictionary(results.map { ($0.name, HostTensor($0)) }) { first, _ in first }
    }

    /// Runs one call on given inputs. Inputs that are weights in the execution plan are read from the package.
    func results(of call: Int, in function: Int, inputs: [HostTensor]) throws -> [HostTensor] {
        try open().executor(of: function).run(call: call, on: inputs)
    }
}
