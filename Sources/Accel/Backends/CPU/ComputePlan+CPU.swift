import AccelCPURuntime
import AccelPrograms
import AccelWeightCompression

extension ComputePlan {
    /// The plan of a function on the CPU.
    /// - Parameter index: of the function in `program.functions`.
    init(_ program: ModelPlan, function index: Int, threads: Int) throws {
        let function = program.functions[index]
        let plan = try ExecutionPlan(program, function: index, threads: threads)
        calls = zip(plan.calls, plan.choices).map { Call($0, $1) }
        (valueBytes, scratchBytes, stateBytes) = (plan.valueBytes, plan.scratchBytes, plan.stateBytes)
        let weights = Set(
            function.calls.flatMap(\.inputs).compactMap { operand in
                if case .weight(let index) = operand.storage { index } else { nil }
            })
        weightBytes = weights.reduce(0) { $0 + program.weights[$1].byteCount }
    }
}

extension ComputePlan.Call {
    fileprivate init(_ work: CallProfile, _ choice: KernelChoice) {
        let call = work.call
        (label, operation, backend) = (call.label, call.operation.name, .cpu)
        (kernel, reason) = (work.kernel, ([choice.reason] + choice.staged).joined(separator: ", "))
        func operand(_ operand: AccelCPURuntime.Operand) -> ComputePlan.Operand {
            ComputePlan.Operand(elementType: operand.elementType, shape: operand.shape)
        }
        (inputs, outputs) = (call.inputs.map(operand), call.outputs.map(operand))
        (weightEncoding, byteCount, multiplyAdds) = (work.encoding, work.byteCount, work.multiplyAdds)
    }
}
