import AccelByteIO
import AccelPrograms

/// An open model whose preparation is shared: the sessions of one `PreparedModel` decode each small weight once, and
/// choose the kernel of each call once.
///
///     let model = PreparedModel(try package.graph.planned())
///     let sessions = try (0..<4).map { _ in try Session(model) }
///
/// Each session owns the memory of its values and states, and the addresses of its kernels' operands.
public final class PreparedModel: Sendable {
    /// The execution plans and weights of the model.
    public let program: ModelPlan
    let weights: ModelWeights
    /// The kernels of each function that has been prepared, by its index.
    private let chosen = Locked<[Int: [ChosenKernel]]>([:])

    /// Creates a model without preparing any function yet.
    /// - Parameter packed: weights of this model as kernels pack them; kernels pack those that are missing while they run.
    public init(_ program: ModelPlan, packed: PackedWeights? = nil) {
        self.program = program
        weights = ModelWeights(program.weights, packed: packed)
    }

    /// Chooses the kernels of a function and decodes its small weights, if no session has done so yet. Allocates no
    /// memory for values.
    /// - Parameter index: the index of the function in `program.functions`.
    /// - Throws: `FormatError` if an operand is outside of its storage; `RequestError` if there is not enough memory.
    public func prepare(_ index: Int) throws {
        guard kernels(of: index) == nil else { return }
        let prepared = try kernelsWithoutMemory(of: index)
        _ = try weights.pack(for: program.functions[index].name)
        keep(prepared.map(\.chosen), of: index)
    }

    /// The kernels of a function for which no memory is allocated.
    func kernelsWithoutMemory(of index: Int) throws -> [PreparedKernel] {
        let (function, arena) = (program.functions[index], SharedArena())
        let memory = try FunctionMemory(function, weights: weights, states: StateMemory([function]), arena: arena)
        return try PreparedFunction(
            function, memory, Workspace(in: arena, after: function.arenaBytes, workers: 1)
        ).kernels
    }

    func kernels(of index: Int) -> [ChosenKernel]? { chosen.withLock { $0[index] } }

    func keep(_ kernels: [ChosenKernel], of index: Int) { chosen.withLock { $0[index] = kernels } }
}
