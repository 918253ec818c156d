import Programs
import Tensors
import TestSupport
import Testing

@Suite("From a compiled program back to values")
struct LiftingTests {
    private func lifted(_ program: Program) throws -> FrozenProgram {
        let frozen = try program.freezing(ShapeBindings())
        let compiled = try CompressedProgram(functions: [frozen], weights: []).compiled()
        return try CompressedProgram(lifting: compiled, isWeight: { _ in false }).functions[0]
    }

    @Test("Every operator is found again, with the same meaning", arguments: OperatorSample.all)
    func operators(sample: OperatorSample) throws {
        let tensors = try sample.inputs()
        var builder = ProgramBuilder(name: "sample")
        let inputs = tensors.enumerated().map { builder.input("\($0)", $1.type) }
        builder.output("y", try builder.apply(try sample.frozen(), inputs))
        let program = try builder.finish()
        let values = Dictionary(uniqueKeysWithValues: tensors.enumerated().map { ("\($0)", $1) })
        let found = try #require(try lifted(program).evaluate(values).first)
        #expect(found.name == "y")
        #expect(agree(found.tensor, try sample.frozen().evaluate(tensors)[0], tolerance: 0))
    }

    @Test("Views that were folded into strides come back as reshape, slice, transpose and expand")
    func views() throws {
        var builder = ProgramBuilder(name: "views")
        let x = builder.input("x", TensorType(.float32, [4, 6, 10]))
        let parts = try builder.apply(Reshape(to: [4, 6, 2, 5]), [x])
        let box = try builder.apply(Slice(begin: [1, 2, 0, 1], sizes: [2, 3, 2, 4]), [parts])
        let turned = try builder.apply(Transpose([2, 0, 3, 1]), [box])
        let one = try builder.apply(Slice(begin: [0, 0, 0, 1], sizes: [2, 2, 4, 1]), [turned])
        let wide = try builder.apply(Expand(to: [2, 2, 4, 3]), [one])
        builder.output("sum", try builder.apply(Add(), [turned, wide]))
        builder.output("turned", turned)
        let program = try builder.finish()
        let input = HostTensor((0..<240).map { Float($0) }, [4, 6, 10])
        let expected = try program.freezing(ShapeBindings()).evaluate(["x": input])
        let found = try lifted(program).evaluate(["x": input])
        #expect(found.map(\.name) == ["sum", "turned"])
        #expect(found.map(\.tensor) == expected.map(\.tensor))
    }

    @Test("A state that is written in place is a state again")
    func states() throws {
        var builder = ProgramBuilder(name: "state")
        let cache = builder.state("cache", TensorType(.float32, [1, 4, 2]))
        let x = builder.input("x", TensorType(.float32, [1, 1, 2]))
        let place = builder.input("place", TensorType(.int64, []))
        let next = try builder.apply(UpdateSlice(axis: 1), [cache, x, place])
        builder.update("cache", to: next)
        builder.output("sum", try builder.apply(Reduce(.sum, axes: [1]), [next]))
        let program = try builder.finish()
        let (original, found) = (try program.freezing(ShapeBindings()), try lifted(program))
        var (states, foundStates) = ([String: HostTensor](), [String: HostTensor]())
        for step in 0..<3 {
            let inputs = [
                "x": HostTensor([Float(step + 1), Float(-step)], [1, 1, 2]), "place": HostTensor([Int64(step)], []),
            ]
            let expected = try original.evaluate(inputs, states: &states)
            #expect(try found.evaluate(inputs, states: &foundStates).map(\.tensor) == expected.map(\.tensor))
            #expect(foundStates == states)
        }
    }
}
