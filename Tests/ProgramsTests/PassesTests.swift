import AccelPrograms
import AccelTensors
import Testing

@Suite("Passes")
struct PassesTests {
    /// x -> linear -> gelu -> (+ a sum of two tables), with a twin of the linear that nothing but the sum reads.
    static func sample() throws -> Program {
        var builder = ProgramBuilder(name: "sample")
        let x = builder.input("x", TensorType(.float32, [2, 3]))
        let weight = builder.constant(
            StoredTensor(name: "w", floats: (0..<12).map { Float($0) / 7 - 0.5 }, shape: [4, 3]), isWeight: true)
        let table = try builder.apply(
            Add(), [builder.literal(HostTensor([1.0, 2, 3, 4], [4]), name: "table"), builder.literal(1)])
        let y = try builder.in("layer") { try $0.apply(Gelu(.erf), [$0.apply(Linear(), [x, weight])]) }
        let twin = try builder.in("twin") { try $0.apply(Gelu(.erf), [$0.apply(Linear(), [x, weight])]) }
        builder.output("y", try builder.apply(Add(), [try builder.apply(Add(), [y, twin]), table]))
        return try builder.finish()
    }

    @Test("Passes keep the meaning", arguments: Passes.all.map { $0.name })
    func meaning(pass: String) throws {
        let frozen = try Self.sample().freezing(ShapeBindings())
        let run = try #require(Passes.all.first { $0.name == pass })
        let x = ["x": HostTensor([0.5, -1, 2, 3, -0.25, 1], [2, 3])]
        #expect(try frozen.applying(run.run).evaluate(x)[0].tensor == frozen.evaluate(x)[0].tensor)
    }

    @Test("Tables are folded, twins merged, activations fused, and labels tell where a node came from")
    func optimized() throws {
        let program = try Self.sample().freezing(ShapeBindings()).optimized().program
        #expect(program.nodes.map(\.operation.name) == ["linear", "add", "add"])
        #expect(program.nodes[0].label == "layer.gelu")
        #expect(program.nodes[0].operation.attributes == ["activation": .word("gelu_erf")])
        let table = try #require(program.constants.first { !$0.isWeight })
        #expect(HostTensor(try table.requireTensor()) == HostTensor([2.0, 3, 4, 5], [4]))
    }

    @Test("A linear that something else reads too keeps its own result")
    func sharedLinear() throws {
        var builder = ProgramBuilder(name: "shared")
        let x = builder.input("x", TensorType(.float32, [1, 2]))
        let weight = builder.constant(StoredTensor(name: "w", floats: [1, 2, 3, 4], shape: [2, 2]), isWeight: true)
        let y = try builder.apply(Linear(), [x, weight])
        builder.output("y", try builder.apply(Add(), [y, try builder.apply(Relu(), [y])]))
        let program = try builder.finish().freezing(ShapeBindings()).optimized().program
        #expect(program.nodes.map(\.operation.name) == ["linear", "relu", "add"])
    }
}
