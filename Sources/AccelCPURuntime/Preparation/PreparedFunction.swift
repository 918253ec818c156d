import AccelPrograms

/// The cost of preparing a function.
public struct Preparation: Sendable {
    /// The whole time of preparation.
    public let duration: Duration
    /// The part of it for weights that stay decoded: vectors, scalars and small tables that are not stored as float32,
    /// and that no other session of the model had decoded.
    public let decoding: Duration
    /// The bytes of these decoded weights.
    public let decodedBytes: Int
    /// The number of calls whose kernel was chosen; 0 if another session of the model had chosen them.
    public let chosenKernels: Int
    /// The bytes of scratch memory, shared by all calls.
    public let scratchBytes: Int
}

/// A function's calls with their kernels, and the groups of calls that run as one. Operands refer to address cells, so that memory for values can be allocated
/// later.
struct PreparedFunction {
    let calls: [PreparedCall]
    let kernels: [PreparedKernel]
    let joined: [JoinedCalls]
    let outputs: [(name: String, memory: OperandMemory)]

    /// - Throws: `FormatError` if an operand is outside of its storage.
    /// - Parameters:
    ///   - known: the kernel of each call, if another session has chosen them.
    ///   - explains: keeps the candidates of each call with their reasons.
    init(
        _ function: FunctionPlan, _ memory: FunctionMemory, _ workspace: Workspace, known: [ChosenKernel]? = nil,
        explains: Bool = false
    ) throws {
        let calls = try function.calls.map { try PreparedCall($0, in: memory, workspace) }
        let kernels = try calls.enumerated().map {
            try PreparedKernel($1, known: known?[$0], explains: explains)
        }
        joined = function.joined.compactMap { JoinedCalls($0, (function.calls, calls), kernels) }
        (self.calls, self.kernels) = (calls, kernels)
        outputs = try function.outputs.map { ($0.name, try memory.operand($0.operand)) }
    }

    /// The index of the last call that may fail for some values; 0 if there is none.
    var lastThatMayFail: Int { kernels.lastIndex { $0.check != nil } ?? 0 }
}
