import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// A planned function run by the operators' reference implementation: all calls in order, over the arena of the
/// execution plan. It finds values that the plan overlaps by mistake, independently of any kernel.
struct ReferencePlan {
    private let function: FunctionPlan
    private let memory: ArenaMemory
    /// Returns the weights for the results that the arena holds.
    private let weight: (Int) throws -> HostTensor

    init(_ function: FunctionPlan, _ feed: FunctionFeed, weight: @escaping (Int) throws -> HostTensor)
        throws
    {
        self.function = function
        self.weight = weight
        memory = try ArenaMemory(
            function,
            inputs: try function.inputs.map { port in
                guard let tensor = feed.inputs[port.name] else {
                    throw OperatorError("there is no input \"\(port.name)\"")
                }
                return tensor
            }, states: feed.states)
    }

    /// Returns the values that a call reads, with its weights from `weight` or else from the plan's own source.
    func inputs(of call: KernelCall, weight other: ((Int) throws -> HostTensor)? = nil) throws -> [HostTensor] {
        try call.inputs.map { try memory.read($0, weight: other ?? weight) }
    }

    /// Returns the call's results on the values that the arena holds now.
    func results(of call: KernelCall) throws -> [HostTensor] { try call.operation.evaluate(inputs(of: call)) }

    func store(_ results: [HostTensor], of call: KernelCall) throws {
        for (result, operand) in zip(results, call.outputs) { try memory.write(result, to: operand) }
    }

    /// Runs all calls.
    /// - Returns: the outputs by name, in the function's order.
    func run(observe: (KernelCall, [HostTensor]) throws -> Void = { _, _ in }) throws -> [(
        name: String, tensor: HostTensor
    )] {
        for call in function.calls {
            let results = try results(of: call)
            try observe(call, results)
            try store(results, of: call)
        }
        return try outputs()
    }

    func outputs() throws -> [(name: String, tensor: HostTensor)] {
        try function.outputs.map { ($0.name, try memory.read($0.operand, weight: weight)) }
    }
}
