import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Testing

@Suite("Execution plans")
struct PlanningTests {
    /// Splits heads, attends, joins heads: the shape of every encoder layer.
    static func attention() throws -> FunctionPlan {
        var builder = ProgramBuilder(name: "attention")
        let x = builder.input("x", TensorType(.float32, [1, 5, 8]))
        let heads = try builder.apply(
            Transpose([0, 2, 1, 3]), [try builder.apply(Reshape(to: [1, 5, 2, 4]), [x])])
        let mixed = try builder.apply(Attention(scale: 0.5), [heads, heads, heads])
        let joined = try builder.apply(
            Reshape(to: [1, 5, 8]), [try builder.apply(Transpose([0, 2, 1, 3]), [mixed])])
        builder.output("y", try builder.apply(Add(), [joined, x]))
        let frozen = try builder.finish().freezing(ShapeBindings())
        return try CompressedProgram(functions: [frozen], weights: []).planned().functions[0]
    }

    @Test("Splitting and joining heads costs no call and no copy")
    func views() throws {
        let function = try Self.attention()
        #expect(function.calls.map(\.operation.name) == ["attention", "add"])
        let query = function.calls[0].inputs[0]
        #expect(query.storage == .input(0))
        #expect(query.layout == StridedLayout(shape: [1, 2, 5, 4], strides: [40, 4, 8, 1]))
        #expect(function.calls[1].inputs[0].layout.isContiguous)
    }

    @Test("Where a kernel needs contiguous memory, a copy goes before it")
    func copies() throws {
        var builder = ProgramBuilder(name: "copies")
        let x = builder.input("x", TensorType(.float32, [2, 3]))
        let turned = try builder.apply(Transpose([1, 0]), [x])
        builder.output("y", try builder.apply(Softmax(), [turned]))
        builder.output("z", try builder.apply(Reshape(to: [6]), [turned]))
        let frozen = try builder.finish().freezing(ShapeBindings())
        let function = try CompressedProgram(functions: [frozen], weights: []).planned().functions[0]
        #expect(function.calls.map(\.operation.name) == ["copy", "softmax", "copy"])
        #expect(function.outputs[1].operand.layout == StridedLayout(shape: [6]))
    }

    @Test("Outputs stay in the arena to the end, apart from each other and from what is still read")
    func lifetimes() throws {
        var builder = ProgramBuilder(name: "lifetimes")
        let x = builder.input("x", TensorType(.float32, [16]))
        let early = try builder.apply(Tanh(), [x])
        var value = early
        for _ in 0..<6 { value = try builder.apply(Add(), [value, x]) }
        builder.output("early", early)
        builder.output("late", value)
        let frozen = try builder.finish().freezing(ShapeBindings())
        let function = try CompressedProgram(functions: [frozen], weights: []).planned().functions[0]
        let home = function.outputs[0].operand.storage
        for call in function.calls.dropFirst() { #expect(call.outputs[0].storage != home) }
        // early, and two that take turns.
        #expect(function.arenaBytes == 3 * 64)
    }

    @Test("Functions share weights, and equal tables once")
    func sharedWeights() throws {
        var builder = ProgramBuilder(name: "shared", dimensions: [.init("batch", usual: [1])])
        let x = builder.input("x", TensorType(.float32, ["batch", 4]))
        let weight = StoredTensor(name: "w", floats: [1, 2, 3, 4, 5, 6, 7, 8], shape: [2, 4])
        let scale = builder.literal(HostTensor([2.0, 3], [2]), name: "scale")
        let y = try builder.apply(Linear(), [x, builder.constant(weight, isWeight: true)])
        builder.output("y", try builder.apply(Multiply(), [y, scale]))
        let program = try builder.finish()
        let functions = try [1, 8].map { try program.freezing(ShapeBindings(["batch": $0])) }
        let recipe = Recipe(default: try Codecs.codec("float32"))
        let planned = try recipe.compressing(functions, threads: 1).planned()
        #expect(planned.functions.map(\.name) == ["shared[batch=1]", "shared[batch=8]"])
        #expect(planned.weights.map(\.name) == ["w", "scale"])
    }
}
