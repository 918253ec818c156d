import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// A planned function run by the operators' reference implementation: all calls in order, over the arena of the
/// execution plan. It finds values that the plan overlaps by mistake, independently of any kernel.
struct ReferencePlan {
    private let memory: ArenaMemory
    private let uses: StateUses

    init(_ function: FunctionPlan, _ feed: FunctionFeed) throws {
        uses = StateUses(function)
        memory = try ArenaMemory(
            function,
            inputs: try function.inputs.map { port in
                guard let tensor = feed.inputs[port.name] else {
                    throw OperatorError("there is no input \"\(port.name)\"")
                }
                return tensor
            }, initial: feed.state)
    }

    /// Brings the states into memory that a call is the first to use.
    func prepare(_ index: Int) throws {
        for state in uses.first[index] { try memory.load(state: state) }
    }

    /// Returns the values that a call reads, with its weights from `weight`.
    func operands(of call: KernelCall, weight: (Int) throws -> ReferenceOperand) throws -> [ReferenceOperand] {
        try call.inputs.map { try memory.operand($0, weight: weight) }
    }

    /// Stores the results of a call, and gives the memory of states back that no later call uses.
    func store(_ results: [HostTensor], of call: KernelCall, at index: Int) throws {
        for (result, operand) in zip(results, call.outputs) { try memory.write(result, to: operand) }
        for state in uses.last[index] { memory.discard(state: state) }
    }
}
