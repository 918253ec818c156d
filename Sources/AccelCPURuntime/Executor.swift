public import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Runs one function of a model plan on this processor.
///
/// Creating one prepares the function: it chooses kernels, plans scratch memory, allocates the arena, and decodes the
/// small weights (vectors, scalars, integer tables) unless another session of the model has done so. Matrices stay
/// compressed; kernels decode some rows at a time. Results do not depend on the number of threads or the instruction
/// set.
///
/// Only one thread at a time may use an executor; create one for each thread.
public final class Executor {
    /// The function that the executor runs.
    public let function: FunctionPlan
    let team: Team
    let memory: FunctionMemory
    private let workspace: Workspace
    private(set) var calls: [PreparedCall]
    private var kernels: [PreparedKernel]
    /// The groups of calls that run as one, in order.
    private(set) var joined: [JoinedCalls]
    private let outputs: [(name: String, memory: OperandMemory)]
    /// Saves the states that calls overwrite before a call that may fail.
    private var journal: StateJournal
    /// The journal of runs that may fail after each call: of observed runs, and of runs that may be cancelled; nil before
    /// the first one.
    private var wholeJournal: StateJournal?
    /// The duration of each call of the last run, by the call's index.
    public private(set) var durations: [Duration]
    /// The cost of preparing the function.
    public let preparation: Preparation

    /// The result of a call that has just run.
    public struct Step {
        /// The index of the call in `function.calls`.
        public let index: Int
        /// The call in the execution plan.
        public let call: KernelCall
        /// The time that the call took.
        public let duration: Duration
        fileprivate let memory: [OperandMemory]
        /// Copies of the call's outputs, named by the node's label.
        public var outputs: [StoredTensor] { memory.map { $0.stored(name: call.label) } }
    }

    /// - Parameters:
    ///   - index: the index of the function in `program.functions`.
    ///   - threads: the largest number of threads that work on a run.
    ///   - states: the memory of the function's states; executors of functions that share states get the same one. nil
    ///     creates states with initial values.
    /// - Throws: `FormatError` if an operand is outside of its storage.
    public convenience init(
        _ program: ModelPlan, function index: Int = 0, threads: Int = 1, states: StateMemory? = nil
    ) throws {
        try self.init(
            PreparedModel(program), function: index, team: Team(threads: threads), states: states, arena: SharedArena())
    }

    init(
        _ model: PreparedModel, function index: Int, team: Team, states: StateMemory?, arena: SharedArena
    ) throws {
        let program = model.program
        guard program.functions.indices.contains(index) else {
            throw RequestError("there is no function \(index); the program has \(program.functions.count)")
        }
        let (clock, function) = (ContinuousClock(), program.functions[index])
        let start = clock.now
        let memory = try FunctionMemory(
            function, weights: model.weights, states: try states ?? StateMemory([function]), arena: arena)
        let workspace = Workspace(in: arena, after: function.arenaBytes, workers: team.threads)
        let known = model.kernels(of: index)
        let prepared = try PreparedFunction(function, memory, workspace, known: known)
        if known == nil { model.keep(prepared.kernels.map(\.chosen), of: index) }
        (self.function, self.memory, self.workspace, self.team) = (function, memory, workspace, team)
        durations = prepared.calls.map { _ in .zero }
        (calls, kernels, joined, outputs) = (prepared.calls, prepared.kernels, prepared.joined, prepared.outputs)
        try memory.allocate(arenaBytes: workspace.end)
        journal = try StateJournal(prepared.calls, before: prepared.lastThatMayFail)
        preparation = Preparation(
            duration: clock.now - start, decoding: memory.decoding, decodedBytes: memory.decodedBytes,
            chosenKernels: known == nil ? prepared.kernels.count : 0, scratchBytes: workspace.byteCount)
    }

    /// Runs the function. A run that fails leaves the states unchanged.
    /// - Parameters:
    ///   - inputs: all inputs of the function, by name.
    ///   - cancellation: ends the run early, between pieces of work.
    ///   - observe: called after each call, in order.
    /// - Returns: the outputs, with the function's order and names.
    /// - Throws: `RequestError` for an input of a wrong name, type or shape, before any call runs; `ShapeError` naming
    ///   the operator for invalid values, such as an index out of range; as `Cancellation.check` does.
    public func run(
        _ inputs: [String: StoredTensor], until cancellation: Cancellation? = nil,
        observe: ((Step) throws -> Void)? = nil
    ) throws -> [StoredTensor] {
        try start(with: inputs, until: cancellation)
        guard let observe else {
            return try run(until: cancellation) {
                try outputs.map { output in
                    try output.memory.stored(name: output.name) { try cancellation?.check() }
                }
            }
        }
        let journal = try journalOfAllCalls()
        defer { team.rest() }
        let clock = ContinuousClock()
        do {
            for index in calls.indices {
                journal.note(index)
                try cancellation?.check()
                let start = clock.now
                try make(index)
                durations[index] = clock.now - start
                try observe(
                    Step(
                        index: index, call: function.calls[index], duration: durations[index],
                        memory: calls[index].outputs))
            }
        } catch {
            journal.undo()
            throw error
        }
        journal.forget()
        return results
    }

    /// Runs the function on the inputs that are set. A run that fails leaves the states unchanged. From the second run
    /// on, it allocates nothing, takes no lock, and wakes the helper threads at most once.
    /// - Parameters:
    ///   - last: steps that follow the calls.
    ///   - cancellation: ends the run early, between pieces of work.
    ///   - finish: the end of the run, such as a copy of the outputs; if it fails, the run fails.
    /// - Throws: `ShapeError` naming the operator for invalid values, such as an index out of range; as
    ///   `Cancellation.check` and `finish` do.
    func run<Result>(
        then last: [PlacedStep] = [], until cancellation: Cancellation? = nil, _ finish: () throws -> Result = {}
    ) throws -> Result {
        // Any call of a run that may be cancelled may be its last.
        let journal = cancellation == nil ? self.journal : try journalOfAllCalls()
        workspace.cancellation = cancellation
        defer {
            team.rest()
            workspace.cancellation = nil
        }
        do {
            try run(keeping: journal, until: cancellation)
            for index in 0..<last.count { team.run(last[index]) }
            try cancellation?.check()
            let result = try finish()
            journal.forget()
            return result
        } catch {
            journal.undo()
            throw error
        }
    }

    private func run(keeping journal: StateJournal, until cancellation: Cancellation?) throws {
        let clock = ContinuousClock()
        var start = clock.now
        var (index, group) = (0, 0)
        while index < kernels.count {
            try cancellation?.check()
            if group < joined.count, joined[group].calls.lowerBound == index {
                for call in joined[group].calls { journal.note(call) }
                joined[group].run(on: team)
                let end = clock.now
                for call in 0..<joined[group].shares.count {
                    durations[index + call] = (end - start) * joined[group].shares[call]
                }
                (index, group, start) = (index + joined[group].shares.count, group + 1, end)
                continue
            }
            journal.note(index)
            try make(index)
            let end = clock.now
            durations[index] = end - start
            (index, start) = (index + 1, end)
        }
    }

    /// The journal that keeps what any call overwrites; made for the first run that needs it.
    private func journalOfAllCalls() throws -> StateJournal {
        let journal = try wholeJournal ?? StateJournal(calls, before: calls.count)
        wholeJournal = journal
        return journal
    }

    var outputMemory: [OperandMemory] { outputs.map(\.memory) }
    func outputMemory(named name: String) -> OperandMemory? { outputs.first { $0.name == name }?.memory }

    /// Steps that copy an output to contiguous memory. Prepared as a call is.
    func copying(_ output: OperandMemory, to copy: OperandMemory) throws -> [PlacedStep] {
        let kernel = try PreparedKernel(
            PreparedCall(
                operation: Copy(), label: "output", inputs: [output], outputs: [copy], workspace: workspace))
        try memory.allocate(arenaBytes: workspace.end)
        return kernel.steps
    }

    /// Takes over the inputs of a run whose calls `step` makes one by one.
    /// - Throws: `RequestError` for an input of a wrong name, type or shape; as `Cancellation.check` does.
    public func start(with inputs: [String: StoredTensor], until cancellation: Cancellation? = nil) throws {
        memory.arena.user = nil
        try function.check(inputs)
        for (index, port) in function.inputs.enumerated() {
            guard let tensor = inputs[port.name] else { continue }
            try cancellation?.check()
            try memory.copyInput(index, from: tensor)
        }
    }

    /// Takes over the inputs of a run where they lie. They must not change during it, and are not read after it.
    /// - Throws: as `start(with:)` does.
    func start(borrowing inputs: [String: StoredTensor]) throws {
        memory.arena.user = nil
        try function.check(inputs)
        for (index, port) in function.inputs.enumerated() {
            guard let tensor = inputs[port.name] else { continue }
            if !memory.borrowInput(index, from: tensor) { try memory.copyInput(index, from: tensor) }
        }
    }

    /// Runs one call on the current contents of memory. All calls in order make one run.
    public func step(_ index: Int) throws {
        guard calls.indices.contains(index) else {
            throw RequestError("there is no call \(index); \(function.name) has \(calls.count)")
        }
        defer { team.rest() }
        try make(index)
    }

    /// The function's outputs after its last call.
    public var results: [StoredTensor] { outputs.map { $0.memory.stored(name: $0.name) } }

    /// Replaces the weight of an index by `tensor` for all later calls.
    /// - Throws: `FormatError` when it has another shape.
    public func replace(weight index: Int, by tensor: CompressedTensor) throws {
        try memory.replace(weight: index, by: tensor)
        for (number, call) in function.calls.enumerated()
        where call.inputs.contains(where: { $0.storage == .weight(index) }) {
            calls[number] = try PreparedCall(call, in: memory, workspace)
            kernels[number] = try PreparedKernel(calls[number])
        }
        joined = function.joined.compactMap { JoinedCalls($0, (function.calls, calls), kernels) }
        try memory.allocate(arenaBytes: workspace.end)
    }

    /// Runs one call alone on given values. Those of inputs that are weights in the function are passed over: the call
    /// reads its weights. States that it reads or writes are changed.
    /// - Parameter index: of the call in `function.calls`.
    /// - Returns: the call's outputs, named by the node's label.
    /// - Throws: `RequestError` when the inputs do not fit the call; as `run` otherwise.
    public func run(call index: Int, on inputs: [HostTensor]) throws -> [HostTensor] {
        guard calls.indices.contains(index) else {
            throw RequestError("there is no call \(index); \(function.name) has \(calls.count)")
        }
        let prepared = calls[index]
        guard inputs.count == prepared.inputs.count else {
            throw RequestError("\(prepared.label): expected \(prepared.inputs.count) inputs, found \(inputs.count)")
        }
        for (position, (operand, tensor)) in zip(prepared.inputs, inputs).enumerated() {
            if case .weight = operand.operand.storage { continue }
            let expected = TensorType(operand.operand.elementType, shape: operand.shape)
            guard tensor.type == expected else {
                throw RequestError("\(prepared.label), input \(position): expected \(expected), found \(tensor.type)")
            }
            if case .input(let input) = operand.operand.storage { _ = try memory.ownInput(input) }
            operand.write(tensor)
        }
        defer { team.rest() }
        try make(index)
        return prepared.outputs.map { $0.tensor() }
    }

    private func make(_ index: Int) throws {
        do {
            try kernels[index].run(on: team)
        } catch let error as OperatorError {
            let call = calls[index]
            throw ShapeError(operator: "\(call.operation.name) \"\(call.label)\"", reason: error.description)
        }
    }

    /// The groups of calls that run as one.
    package var joinedCalls: [Range<Int>] { joined.map(\.calls) }

    /// The kernel that computes each call, by name.
    package var kernelNames: [String] { kernels.map { $0.type.map { "\($0)" } ?? "nothing" } }
}
