import AccelPrograms

/// What preparing a function took.
public struct Preparation: Sendable {
    public let duration: Duration
    /// How much of it went to weights that stay decoded: vectors, scalars and small tables that are not stored as float32,
    /// and that no other session of the model had decoded.
    public let decoding: Duration
    /// Of these weights.
    public let decodedBytes: Int
    /// Calls whose kernel was chosen; 0 when another session of the model had chosen them.
    public let chosenKernels: Int
    /// Scratch memory of all calls, which use the same.
    public let scratchBytes: Int
}

/// A function's calls with their kernels. No memory of values is needed yet: operands refer to cells.
struct PreparedFunction {
    let calls: [PreparedCall]
    let kernels: [PreparedKernel]
    let outputs: [(name: String, memory: OperandMemory)]

    /// - Throws: `FormatError` when an operand lies outside of its storage.
    /// - Parameters:
    ///   - known: the kernel of each call, where another session has chosen them.
    ///   - explains: keeps what spoke for each kernel.
    init(
        _ function: CompiledFunction, _ memory: FunctionMemory, _ workspace: Workspace, known: [ChosenKernel]? = nil,
        explains: Bool = false
    ) throws {
        calls = try function.calls.map { try PreparedCall($0, in: memory, workspace) }
        kernels = try calls.enumerated().map {
            try PreparedKernel($1, known: known?[$0], explains: explains)
        }
        outputs = try function.outputs.map { ($0.name, try memory.operand($0.operand)) }
    }

    /// The index of the last call that values may make fail; 0 when there is none.
    var lastThatMayFail: Int { kernels.lastIndex { $0.check != nil } ?? 0 }
}
