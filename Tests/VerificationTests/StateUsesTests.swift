import AccelCPURuntime
import AccelPrograms
import AccelTensors
import Testing

@testable import AccelVerification

@Suite("States of a run that goes on call by call")
struct StateUsesTests {
    /// Three states: one that a call updates, one that an output is a view of, and one that nothing uses.
    private func program() throws -> Program {
        var builder = ProgramBuilder(name: "model", role: .encode)
        let x = builder.input("x", TensorType(.float32, [4]))
        let sum = builder.state("sum", TensorType(.float32, [4]))
        let shown = builder.state("shown", TensorType(.float32, [4]))
        let idle = builder.state("idle", TensorType(.float32, [4]))
        let next = try builder.apply(Add(), [sum, x])
        builder.update("sum", to: next)
        builder.update("shown", to: try builder.apply(Negate(), [x]))
        builder.update("idle", to: idle)
        builder.output("y", try builder.apply(Multiply(), [next, shown]))
        return try builder.finish()
    }

    @Test("each state is in memory from the first call that uses it to the last")
    func uses() throws {
        func operand(_ storage: Operand.Storage) -> Operand {
            Operand(storage: storage, elementType: .float32, layout: StridedLayout(shape: [4]))
        }
        func call(_ inputs: [Operand.Storage], _ output: Operand.Storage) -> KernelCall {
            KernelCall(operation: Copy(), label: "", inputs: inputs.map(operand), outputs: [operand(output)])
        }
        let function = FunctionPlan(
            name: "f", part: "f", bindings: ShapeBindings(), inputs: [],
            outputs: [.init(name: "y", operand: operand(.state(1)))],
            states: ["a", "b", "c"].map { .init(name: $0, elementType: .float32, shape: [4], initial: 0) },
            arenaBytes: 64,
            calls: [
                call([.arena(0)], .arena(0)), call([.state(0)], .arena(0)), call([.arena(0)], .state(0)),
                call([.state(1)], .arena(0)),
            ])
        let uses = StateUses(function)
        #expect(uses.first == [[], [0], [], [1], [2]])
        #expect(uses.last == [[], [], [0], [], [1, 2]])
    }

    @Test("results are those of a whole run, and those of the model")
    func results() throws {
        let program = try program()
        let frozen = try program.freezing(ShapeBindings())
        let planned = try CompressedProgram(functions: [frozen], weights: []).planned()
        let feed = SeededInputs(seed: 4).feed(for: frozen)
        let runner = PackageRunner(planned, threads: 1)
        let whole = try runner.run(0, feed)
        let run = try runner.start(0, feed)
        var found: [String: HostTensor] = [:]
        for index in planned.functions[0].calls.indices {
            try run.step(index)
            run.release(after: index) { found[$0] = $1 }
        }
        try run.finish { found[$0] = $1 }
        #expect(found == whole && found.keys.sorted() == ["idle", "shown", "sum", "y"])
        let reference = FollowingReference(of: frozen, feed, constant: FunctionRun.originalOperand)
        try reference.finish()
        #expect(reference.results == whole)
        #expect(try found["idle"] == feed.state("idle"))
    }
}
