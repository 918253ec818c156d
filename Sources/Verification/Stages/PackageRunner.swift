import ByteIO
import Programs
import Runtime
import Tensors

/// Runs the functions of a verification's subject, each by its own executor.
final class PackageRunner {
    private let program: CompiledProgram
    private let threads: Int
    private var executors: [Int: Executor] = [:]

    init(_ program: CompiledProgram, threads: Int) {
        self.program = program
        self.threads = threads
    }

    private func executor(of function: Int) throws -> Executor {
        // A function with states is to start each run from zeros, as its reference does.
        let lasts = program.functions[function].states.isEmpty
        if lasts, let executor = executors[function] { return executor }
        let executor = try Executor(program, function: function, threads: threads)
        executors[function] = executor
        return executor
    }

    /// Runs a whole function. `observe` gets each call's index and results.
    func run(
        _ function: Int, inputs: [String: HostTensor], observe: ((Int, [HostTensor]) throws -> Void)? = nil
    ) throws -> [String: HostTensor] {
        let stored = Dictionary(uniqueKeysWithValues: inputs.map { ($0.key, $0.value.stored(name: $0.key)) })
        let step = observe.map { observe in
            { (step: Executor.Step) in try observe(step.index, step.outputs.map(HostTensor.init)) }
        }
        let outputs = try executor(of: function).run(stored, observe: step)
        return Dictionary(outputs.map { ($0.name, HostTensor($0)) }) { first, _ in first }
    }

    /// Runs one call on given inputs; those that are weights in the plan are read from the package.
    func results(of call: Int, in function: Int, inputs: [HostTensor]) throws -> [HostTensor] {
        try executor(of: function).run(call: call, on: inputs)
    }
}
