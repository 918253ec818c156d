import AccelTensors
import TestSupport
import Testing

@testable import AccelPrograms

@Suite("Laws of operators")
struct OperatorLawTests {
    @Test("every operator of the registry has a sample, and every sample its own name and goldens")
    func coverage() throws {
        let sampled = Set(OperatorSample.all.map(\.operation.name))
        #expect(sampled == Set(Operators.all.map { $0.name }))
        #expect(Set(OperatorSample.all.map(\.name)).count == OperatorSample.all.count)
        let stored = Set(try OperatorSample.golden().tensors.map { $0.name.prefix { $0 != "." } })
        #expect(stored == Set(OperatorSample.all.map { $0.name[...] }))
    }

    @Test("attributes read back as they were written", arguments: OperatorSample.all)
    func attributes(sample: OperatorSample) throws {
        let copy = try Operators.make(sample.operation.name, sample.operation.attributes)
        #expect(type(of: copy) == type(of: sample.operation))
        #expect(copy.attributes == sample.operation.attributes)
    }

    @Test("the reference meaning is torch's", arguments: OperatorSample.all)
    func golden(sample: OperatorSample) throws {
        let found = try sample.frozen().evaluate(try sample.inputs())
        #expect(found.count == 1)
        #expect(agree(try #require(found.first), try sample.expected(), tolerance: 4e-7), "\(found)")
    }

    @Test("the shape rule tells the evaluated types", arguments: OperatorSample.all)
    func shapes(sample: OperatorSample) throws {
        let inputs = try sample.inputs()
        let rule = try sample.frozen().outputTypes(inputs.map(\.type))
        #expect(rule == (try sample.frozen().evaluate(inputs).map(\.type)))
        #expect(rule == [try sample.expected().type])
    }

    @Test("symbolic, then frozen, is the same as direct", arguments: OperatorSample.all)
    func freezing(sample: OperatorSample) throws {
        let frozen = try freeze(try program(of: sample))
        let output = try #require(frozen.program.outputs.first)
        #expect(frozen.program.type(of: output.value) == (try sample.expected().type))
        let found = try #require(try run(frozen, sample).first)
        #expect(agree(found, try sample.frozen().evaluate(try sample.inputs())[0], tolerance: 0))
    }

    @Test("the decomposition means the same within float32 noise", arguments: OperatorSample.all)
    func decomposition(sample: OperatorSample) throws {
        var parts = try program(of: sample)
        let whole = parts.type(of: try #require(parts.outputs.first).value)
        for _ in 0..<4 {
            parts = try parts.rewriting { try $0.operation.decomposed($1, in: &$2) }
            #expect(parts.type(of: try #require(parts.outputs.first).value) == whole)
        }
        var primitive = true
        _ = try parts.rewriting {
            primitive = try primitive && $0.operation.decomposed($1, in: &$2) == nil
            return nil
        }
        #expect(primitive, "a decomposition that does not end")
        let found = try #require(try run(try freeze(parts), sample).first)
        #expect(agree(found, try sample.expected(), tolerance: 2e-6), "\(found)")
    }

    @Test("multiply-adds are counted for products and are never negative", arguments: OperatorSample.all)
    func work(sample: OperatorSample) throws {
        let count = try sample.frozen().multiplyAdds(try sample.inputs().map(\.shape))
        let isProduct = [
            Linear.name, QuantizedLinear.name, MatMul.name, Attention.name, Conv.name, ConvTranspose.name,
            LSTM.name, LSTMCell.name,
        ].contains(sample.operation.name)
        #expect(isProduct ? count > 0 : count == 0)
    }

    /// One node over inputs with the sample's free dimensions.
    private func program(of sample: OperatorSample) throws -> Program {
        var builder = ProgramBuilder(
            name: "sample", dimensions: OperatorSample.bindings.keys.sorted().map { .init($0, usual: [1]) })
        let inputs = try sample.types().enumerated().map { builder.input("in\($0)", $1) }
        builder.output("out", try builder.apply(sample.operation, inputs))
        return try builder.finish()
    }

    private func freeze(_ program: Program) throws -> FrozenProgram {
        try program.freezing(ShapeBindings(OperatorSample.bindings))
    }

    private func run(_ program: FrozenProgram, _ sample: OperatorSample) throws -> [HostTensor] {
        let inputs = try sample.inputs().enumerated().map { ("in\($0)", $1) }
        return try program.evaluate(Dictionary(uniqueKeysWithValues: inputs)).map(\.tensor)
    }
}
