import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// Runs the functions of a verification's subject, each run from its own initial states.
final class PackageRunner {
    let program: ModelPlan
    let threads: Int
    /// A fault of the kernels, which a self test injects into the results of single calls.
    private let fault: KernelFault?
    private var session: Session?

    init(_ program: ModelPlan, threads: Int, fault: KernelFault? = nil) {
        self.program = program
        self.threads = threads
        self.fault = fault
    }

    /// The memories of one function that exist at the same time: of the run of the package, of its single calls, and of the reference
    /// over the same plan (`ReferencePlan`).
    private static let runsAtOnce = 3
    /// The runs of the model that exist at the same time: with its own weights and with the stored ones, or with and without noise.
    private static let referencesAtOnce = 2

    /// - Parameter models: the model's function of each of the program's; nil where it has none.
    /// - Throws: `RequestError` (unavailable) if the states or the values of a function's runs do not fit into memory, before any
    ///   computation.
    static func requireMemory(for program: ModelPlan, beside models: [FrozenProgram?]) throws {
        _ = try Session(program, threads: 1)
        for (index, function) in program.functions.enumerated() {
            let model = models.indices.contains(index) ? models[index] : nil
            let reference = model.map(ReferenceRun.peakBytes) ?? 0
            try MachineMemory.require(
                MachineMemory.sum(
                    Array(repeating: function.arenaBytes, count: runsAtOnce)
                        + Array(repeating: reference, count: referencesAtOnce)),
                for: "the comparison of function \(function.name)")
        }
    }

    private func open() throws -> Session {
        if let session { return session }
        let new = try Session(program, threads: threads)
        session = new
        return new
    }

    /// Runs a whole function, and hands over its outputs and states, each once no later call uses it.
    func run(_ function: Int, _ feed: FunctionFeed, give: (_ name: String, HostTensor) throws -> Void) throws {
        let run = try start(function, feed)
        for index in program.functions[function].calls.indices {
            try run.step(index)
            try run.release(after: index, give)
        }
        try run.finish { try give($0, $1.wideningRows()) }
    }

    /// Runs a whole function.
    /// - Returns: the outputs and the function's states after the run, by name.
    func run(_ function: Int, _ feed: FunctionFeed) throws -> [String: HostTensor] {
        var results: [String: HostTensor] = [:]
        try run(function, feed) { results[$0] = $1 }
        return results
    }

    /// Starts a run of a function that goes on call by call, in memory of its own.
    func start(_ function: Int, _ feed: FunctionFeed) throws -> PackageRun {
        try PackageRun(program, function: function, feed, threads: threads)
    }

    /// Runs one call on given inputs. Inputs that are weights in the execution plan are read from the package.
    func results(of call: Int, in function: Int, inputs: [HostTensor]) throws -> [HostTensor] {
        let session = try open()
        let plan = program.functions[function]
        defer {
            for operand in plan.calls[call].inputs + plan.calls[call].outputs {
                guard case .state(let index) = operand.storage, plan.states.indices.contains(index) else { continue }
                session.states.discard(plan.states[index])
            }
        }
        let results = try session.executor(of: function).run(call: call, on: inputs)
        guard let fault, fault.applies(plan.calls[call].operation) else { return results }
        return fault.inject(results)
    }
}

extension HostTensor {
    /// Converts a result of a run, to the numbers that it stands for.
    static func values(_ stored: StoredTensor) -> HostTensor { content(stored).wideningRows() }
}
