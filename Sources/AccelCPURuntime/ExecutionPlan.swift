import AccelPrograms

/// How this processor would run a function: the kernel of each call, and the memory. No memory is taken to find out.
public struct ExecutionPlan: Sendable {
    /// By the call's index in the function's `calls`.
    public let choices: [KernelChoice]
    /// The work of each call, by the same index.
    public let calls: [CallProfile]
    /// Bytes of intermediate values.
    public let valueBytes: Int
    /// Bytes of scratch memory, which all calls use.
    public let scratchBytes: Int
    /// Bytes of the function's states, which it shares with functions that have the same.
    public let stateBytes: Int
    /// Bytes of the weights that stay decoded: vectors, scalars and small tables that are not stored as float32.
    public let decodedBytes: Int

    /// - Parameters:
    ///   - index: of the function in `program.functions`.
    ///   - packed: weights that are packed before a run.
    ///   - threads: that would work on a run; each has scratch memory of its own.
    /// - Throws: `FormatError` when an operand lies outside of its storage.
    public init(
        _ program: ModelPlan, function index: Int, packed: PackedWeights? = nil, threads: Int = 1
    ) throws {
        let (function, arena) = (program.functions[index], SharedArena())
        let (weights, states) = (ModelWeights(program.weights, packed: packed), try StateMemory([function]))
        let memory = try FunctionMemory(function, weights: weights, states: states, arena: arena)
        let workspace = Workspace(in: arena, after: function.arenaBytes, workers: threads)
        let prepared = try PreparedFunction(function, memory, workspace, explains: true)
        choices = prepared.kernels.compactMap(\.choice)
        calls = zip(function.calls, zip(prepared.calls, choices)).map { CallProfile($0, $1.0, kernel: $1.1.kernel) }
        (valueBytes, scratchBytes) = (function.arenaBytes, workspace.byteCount)
        (stateBytes, decodedBytes) = (states.byteCount, weights.undecodedBytes)
    }
}
