public import AccelPrograms
public import AccelTensors

/// The functions of a program over one memory of states, e.g. a prefill and a step function over the cache that they
/// share. An executor is made when its function first runs.
///
///     let session = try Session(package.program)
///     _ = try session.run(prefill, ["input_ids": prompt, "position": start])
///     let logits = try session.run(step, ["input_ids": token, "position": place])[0]
///
/// A session runs one thing at a time; use one for each sequence.
public final class Session {
    public let program: CompiledProgram
    /// All states of the program. Resetting, setting and restoring them is for the time between runs.
    public let states: StateMemory
    private let threads: Int
    private var executors: [Int: Executor] = [:]

    /// - Parameter threads: at most so many work on a run.
    /// - Throws: as `StateMemory` does.
    public init(_ program: CompiledProgram, threads: Int = 1) throws {
        self.program = program
        self.threads = threads
        states = try StateMemory(program)
    }

    /// - Parameter index: of the function in `program.functions`.
    /// - Throws: as `Executor` does.
    public func executor(of index: Int) throws -> Executor {
        if let executor = executors[index] { return executor }
        let executor = try Executor(program, function: index, threads: threads, states: states)
        executors[index] = executor
        return executor
    }

    /// Runs a function on inputs by name, as its executor does.
    public func run(_ index: Int, _ inputs: [String: StoredTensor]) throws -> [StoredTensor] {
        try executor(of: index).run(inputs)
    }
}
