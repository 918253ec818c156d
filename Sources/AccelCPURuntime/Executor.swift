import AccelByteIO
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Runs one function of a compiled program on this processor.
///
/// Its memory is allocated once: the arena, the inputs, and the small weights (vectors, scalars, integer tables)
/// decoded. Matrices stay in their stored form and are decoded some rows at a time inside the operations. Results do
/// not depend on the number of threads or the instruction set.
///
/// An executor runs one thing at a time; use one for each thread that wants to run.
public final class Executor {
    public let function: CompiledFunction
    private let workers: Workers
    var memory: FunctionMemory
    private(set) var calls: [(prepared: PreparedCall, kernel: any Kernel)]
    private let outputs: [(name: String, memory: OperandMemory)]
    /// The calls after these cannot fail: they only copy into states.
    private let callsThatMayFail: Int
    /// How long each call of the last run took, by the call's index.
    public private(set) var durations: [Duration] = []

    /// What a call has just made.
    public struct Step {
        /// Of the call in `function.calls`.
        public let index: Int
        public let call: KernelCall
        public let duration: Duration
        fileprivate let memory: [OperandMemory]
        /// Copies of the call's results, called as the node's label is.
        public var outputs: [StoredTensor] { memory.map { $0.stored(name: call.label) } }
    }

    /// - Parameters:
    ///   - index: of the function in `program.functions`.
    ///   - threads: at most so many work on a run.
    ///   - states: what the function keeps from run to run; give the executors of functions that share it the same one.
    ///     Without it the executor has its own, with initial values.
    /// - Throws: `FormatError` when an operand lies outside of its storage.
    public init(
        _ program: CompiledProgram, function index: Int = 0, threads: Int = 1, states: StateMemory? = nil
    ) throws {
        guard program.functions.indices.contains(index) else {
            throw RequestError("there is no function \(index); the program has \(program.functions.count)")
        }
        let function = program.functions[index]
        let memory = try FunctionMemory(
            function, weights: program.weights, states: states ?? StateMemory([function]))
        self.function = function
        self.memory = memory
        workers = Workers(count: threads)
        calls = try function.calls.map { call in
            let prepared = try PreparedCall(call, in: memory)
            return (prepared, Kernels.kernel(for: prepared))
        }
        outputs = try function.outputs.map { ($0.name, try memory.operand($0.operand)) }
        callsThatMayFail = (calls.lastIndex { !($0.prepared.operation is Copy) } ?? -1) + 1
    }

    /// Runs the function. A run that fails leaves states as it found them.
    /// - Parameters:
    ///   - inputs: by name, all of the function's.
    ///   - observe: called after each call, in order.
    /// - Returns: the outputs, in the function's order, called as they are there.
    /// - Throws: `RequestError` for an input of a wrong name, type or shape, before anything runs; `ShapeError` naming
    ///   the operator for values without meaning (an index out of range).
    public func run(
        _ inputs: [String: StoredTensor], observe: ((Step) throws -> Void)? = nil
    ) throws -> [StoredTensor] {
        try start(with: inputs)
        durations.removeAll(keepingCapacity: true)
        let clock = ContinuousClock()
        let fallible = observe == nil ? callsThatMayFail : calls.count
        var journal = StateJournal()
        do {
            for index in calls.indices {
                if index < fallible { journal.note(calls[index].prepared) }
                let start = clock.now
                try run(index)
                durations.append(clock.now - start)
                try observe?(
                    Step(
                        index: index, call: function.calls[index], duration: durations[index],
                        memory: calls[index].prepared.outputs))
            }
        } catch {
            journal.undo()
            throw error
        }
        return results
    }

    /// Takes over the inputs of a run whose calls `step` makes one by one.
    /// - Throws: `RequestError` for an input of a wrong name, type or shape.
    public func start(with inputs: [String: StoredTensor]) throws {
        try function.check(inputs)
        for (index, port) in function.inputs.enumerated() {
            if let tensor = inputs[port.name] { memory.setInput(index, to: tensor) }
        }
    }

    /// Makes one call on what lies in memory. All calls in order are a run.
    public func step(_ index: Int) throws {
        guard calls.indices.contains(index) else {
            throw RequestError("there is no call \(index); \(function.name) has \(calls.count)")
        }
        try run(index)
    }

    /// What the function returns, after its last call.
    public var results: [StoredTensor] { outputs.map { $0.memory.stored(name: $0.name) } }

    /// From now on, calls read `tensor` in place of the weight of that index.
    /// - Throws: `FormatError` when it has another shape.
    public func replace(weight index: Int, by tensor: CompressedTensor) throws {
        try memory.replace(weight: index, by: tensor)
        for (place, call) in function.calls.enumerated()
        where call.inputs.contains(where: { $0.storage == .weight(index) }) {
            let prepared = try PreparedCall(call, in: memory)
            calls[place] = (prepared, Kernels.kernel(for: prepared))
        }
    }

    /// Runs one call alone on given values. Those of inputs that are weights in the function are passed over: the call
    /// reads its weights. States that it reads or writes are changed.
    /// - Parameter index: of the call in `function.calls`.
    /// - Returns: what it makes, called as the node's label is.
    /// - Throws: `RequestError` when the inputs do not fit the call; as `run` otherwise.
    public func run(call index: Int, on inputs: [HostTensor]) throws -> [HostTensor] {
        guard calls.indices.contains(index) else {
            throw RequestError("there is no call \(index); \(function.name) has \(calls.count)")
        }
        let prepared = calls[index].prepared
        guard inputs.count == prepared.inputs.count else {
            throw RequestError("\(prepared.label): expected \(prepared.inputs.count) inputs, found \(inputs.count)")
        }
        for (position, (operand, tensor)) in zip(prepared.inputs, inputs).enumerated() {
            if case .weight = operand.operand.storage { continue }
            let expected = TensorType(operand.operand.elementType, shape: operand.shape)
            guard tensor.type == expected else {
                throw RequestError("\(prepared.label), input \(position): expected \(expected), found \(tensor.type)")
            }
            operand.write(tensor)
        }
        try run(index)
        return prepared.outputs.map { $0.tensor() }
    }

    private func run(_ index: Int) throws {
        // What has no elements may have any number of rows without elements.
        guard calls[index].prepared.outputs.contains(where: { !$0.shape.dimensions.contains(0) }) else { return }
        do {
            try calls[index].kernel.run(on: workers)
        } catch let error as OperatorError {
            let call = calls[index].prepared
            throw ShapeError(operator: "\(call.operation.name) \"\(call.label)\"", reason: error.description)
        }
    }

    /// The kernel that computes each call, by name; `ReferenceKernel` is the slow one.
    package var kernelNames: [String] { calls.map { "\(type(of: $0.kernel))" } }
}
