import AccelPrograms

/// What preparing a function took.
public struct Preparation: Sendable {
    public let duration: Duration
    /// How much of it went to weights that stay decoded: vectors, scalars and small tables that are not stored as float32.
    public let decoding: Duration
    /// Of these weights.
    public let decodedBytes: Int
    /// Scratch memory of all calls, which use the same.
    public let scratchBytes: Int
}

/// A function's calls with their kernels. No memory of values is needed yet: operands refer to cells.
struct PreparedFunction {
    let calls: [PreparedCall]
    let kernels: [PreparedKernel]
    let outputs: [(name: String, memory: OperandMemory)]

    /// - Throws: `FormatError` when an operand lies outside of its storage.
    /// - Parameter explains: keeps what spoke for each kernel.
    init(
        _ function: CompiledFunction, _ memory: FunctionMemory, _ workspace: Workspace, explains: Bool = false
    ) throws {
        calls = try function.calls.map { try PreparedCall($0, in: memory, workspace) }
        kernels = try calls.map { try PreparedKernel($0, explains: explains) }
        outputs = try function.outputs.map { ($0.name, try memory.operand($0.operand)) }
    }

    /// The index of the last call that values may make fail; 0 when there is none.
    var lastThatMayFail: Int { kernels.lastIndex { $0.check != nil } ?? 0 }
}
