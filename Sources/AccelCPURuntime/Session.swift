public import AccelByteIO
import AccelPrograms
public import AccelTensors

/// The functions of a program that share states and one arena, e.g. a prefill and a decode function with one key/value
/// cache. An executor is created when its function first runs.
///
///     let session = try Session(package.graph.planned())
///     _ = try session.run(prefill, ["input_ids": prompt, "position": start])
///     let logits = try session.run(step, ["input_ids": token, "position": position])[0]
///
/// Only one thread at a time may use a session; create one for each sequence.
public final class Session {
    /// The preparation shared with the model's other sessions.
    public let model: PreparedModel
    /// The execution plans and weights of the model.
    public var program: ModelPlan { model.program }
    /// All states of the program. They may be reset, set and restored between runs only.
    public let states: StateMemory
    private let team: Team
    /// The arena of all functions, since only one runs at a time.
    private let arena = SharedArena()
    private var executors: [Int: Executor] = [:]

    /// Creates the only session of a model.
    /// - Parameters:
    ///   - packed: weights of the model that are packed before a run.
    ///   - threads: at most so many work on a run.
    /// - Throws: as `StateMemory` does.
    public convenience init(_ program: ModelPlan, packed: PackedWeights? = nil, threads: Int = 1) throws {
        try self.init(PreparedModel(program, packed: packed), threads: threads)
    }

    /// Creates a session that shares preparation with the model's others. They may run at the same time.
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

    /// The bytes of the arena: the need of the largest prepared function, scratch memory included.
    public var arenaBytes: Int { arena.byteCount }

    /// The bytes of the weights that stay decoded, of the functions prepared so far.
    public var decodedBytes: Int { executors.values.reduce(0) { $0 + $1.preparation.decodedBytes } }

    /// Creates an execution of a function, for repeated runs with inputs and outputs in place. It shares states and
    /// arena with the session's other functions.
    /// - Throws: as `Executor` does.
    public func makeExecution(of index: Int) throws -> Execution {
        try Execution(Executor(model, function: index, team: team, states: states, arena: arena))
    }

    /// Runs a function on inputs by name; see `Executor.run`.
    public func run(
        _ index: Int, _ inputs: [String: StoredTensor], until cancellation: Cancellation? = nil
    ) throws -> [StoredTensor] {
        try executor(of: index).run(inputs, until: cancellation)
    }

    /// Runs a function on inputs by name in the caller's memory; see `Executor.run(_:into:until:)`.
    public func run(
        _ index: Int, _ inputs: [String: StoredTensor], into memory: [OutputMemory],
        until cancellation: Cancellation? = nil
    ) throws -> [StoredTensor] {
        try executor(of: index).run(inputs, into: memory, until: cancellation)
    }
}
