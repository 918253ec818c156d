import AccelPrograms
public import AccelTensors

/// The functions of a program over one memory of states and one arena, e.g. a prefill and a step function over the cache that they
/// share. An executor is made when its function first runs.
///
///     let session = try Session(package.graph.planned())
///     _ = try session.run(prefill, ["input_ids": prompt, "position": start])
///     let logits = try session.run(step, ["input_ids": token, "position": place])[0]
///
/// A session runs one thing at a time; use one for each sequence.
public final class Session {
    /// What it shares with the model's other sessions.
    public let model: PreparedModel
    public var program: CompiledProgram { model.program }
    /// All states of the program. Resetting, setting and restoring them is for the time between runs.
    public let states: StateMemory
    private let team: Team
    /// Of all functions, since one runs at a time.
    private let arena = SharedArena()
    private var executors: [Int: Executor] = [:]

    /// The only session of a model.
    /// - Parameter threads: at most so many work on a run.
    /// - Throws: as `StateMemory` does.
    public convenience init(_ program: CompiledProgram, threads: Int = 1) throws {
        try self.init(PreparedModel(program), threads: threads)
    }

    /// A session that shares preparation with the model's others. They may run at the same time.
    /// - Parameter threads: at most so many work on a run.
    /// - Throws: as `StateMemory` does.
    public init(_ model: PreparedModel, threads: Int = 1) throws {
        self.model = model
        team = Team(threads: threads)
        states = try StateMemory(model.program)
    }

    /// - Parameter index: of the function in `program.functions`.
    /// - Throws: as `Executor` does.
    public func executor(of index: Int) throws -> Executor {
        if let executor = executors[index] { return executor }
        let executor = try Executor(model, function: index, team: team, states: states, arena: arena)
        executors[index] = executor
        return executor
    }

    /// Bytes of the arena: what the largest function that is ready needs, scratch memory included.
    public var arenaBytes: Int { arena.byteCount }

    /// An execution of a function, for runs on memory of the caller's. It shares states and arena with the session's other
    /// functions.
    /// - Throws: as `Executor` does.
    public func makeExecution(of index: Int) throws -> Execution {
        try Execution(Executor(model, function: index, team: team, states: states, arena: arena))
    }

    /// Runs a function on inputs by name, as its executor does.
    public func run(_ index: Int, _ inputs: [String: StoredTensor]) throws -> [StoredTensor] {
        try executor(of: index).run(inputs)
    }
}
