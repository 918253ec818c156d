import Programs
import Tensors

/// Runs the subject of a verification.
struct PackageRunner {
    let program: CompiledProgram

    init(_ program: CompiledProgram, threads: Int) throws {
        self.program = program
    }

    /// Runs a whole function. `observe` gets each call's index and results.
    func run(
        _ function: Int, inputs: [String: HostTensor], observe: (Int, [HostTensor]) throws -> Void = { _, _ in }
    ) throws -> [String: HostTensor] {
        let stored = StoredWeights(program.weights)
        let plan = try ReferencePlan(program.functions[function], inputs: inputs, weight: stored.tensor)
        var index = 0
        let outputs = try plan.run { _, results in
            try observe(index, results)
            index += 1
        }
        return Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
    }

    /// Runs one call on given inputs; those that are weights in the plan are read from the package.
    func results(of call: Int, in function: Int, inputs: [HostTensor]) throws -> [HostTensor] {
        let stored = StoredWeights(program.weights)
        let call = program.functions[function].calls[call]
        return try call.operation.evaluate(
            try zip(call.inputs, inputs).map { operand, tensor in
                guard case .weight(let index) = operand.storage else { return tensor }
                return try stored.tensor(at: index)
            })
    }
}
