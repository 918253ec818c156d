import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors

/// The functions of a Core ML package, imported when they run. Those of sequences are kept, and the one that ran last.
final class CoreMLImporter {
    let functions: [CoreMLFunction]
    let plan: ModelPlan
    private let kept: Set<Int>
    private var imported: [Int: FrozenProgram] = [:]

    init(_ functions: [CoreMLFunction], _ plan: ModelPlan, keeping kept: Set<Int>) {
        (self.functions, self.plan, self.kept) = (functions, plan, kept)
    }

    /// Returns a function with the shapes of the plan.
    func program(_ index: Int) throws -> FrozenProgram {
        if let program = imported[index] { return program }
        imported = imported.filter { kept.contains($0.key) }
        let (function, ports) = (functions[index], plan.functions[index].inputs)
        let shapes = zip(function.interface.inputs, ports).map { ($0.name, $1.shape.dimensions) }
        let program = try function.package.program(
            function: function.interface.function, shapes: Dictionary(shapes) { first, _ in first })
        imported[index] = program
        return program
    }
}

/// Calls that share states, run by the reference implementation of a Core ML package's operations.
final class CoreMLSequence {
    private let importer: CoreMLImporter
    /// By the package's names.
    private(set) var states: [String: HostTensor] = [:]
    /// The outputs of all calls so far, by the plan's names.
    private var made: [String: HostTensor] = [:]

    init(_ importer: CoreMLImporter) { self.importer = importer }

    /// Runs a call, from the states that the one before has left.
    /// - Returns: the inputs and outputs by the package's names.
    func run(_ index: Int, _ call: FeedCall) throws -> (inputs: [String: HostTensor], outputs: [String: HostTensor]) {
        let function = importer.functions[index]
        for (name, tensor) in call.states {
            if let state = function.state(name) { states[state.name] = tensor }
        }
        let inputs = function.inputs(call.inputs(carrying: made)) ?? [:]
        let outputs = try function.package.run(importer.program(index), inputs: inputs, states: &states)
        for name in importer.plan.functions[index].outputs.map(\.name) {
            made[name] = function.output(name, nil).flatMap { outputs[$0] }
        }
        return (inputs, outputs)
    }
}
