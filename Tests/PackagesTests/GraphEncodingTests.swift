import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

@Suite("graph.bin has one encoding for a graph, and is rejected where it is none")
struct GraphEncodingTests {
    /// A graph without weights, written and read again.
    private static func read(_ bytes: ByteView) throws -> ModelGraph {
        let none = WeightIndex(sections: [], encodings: []).encoded
        return try PackageTables(weights: none, blobs: [], file: "weights.bin").graph(bytes, file: "graph.bin")
    }

    private static func planText(_ program: ModelPlan) -> [String] {
        program.functions.map { function in
            let calls = function.calls.map { "\($0.operation) \($0.label) \($0.inputs) \($0.outputs)" }
            return "\(function.name) \(function.arenaBytes) \(calls) \(function.outputs)"
        }
    }

    @Test(
        "Every operator comes back with its attributes, in the same bytes and the same plan",
        arguments: OperatorSample.all)
    func operators(sample: OperatorSample) throws {
        var builder = ProgramBuilder(name: "sample")
        let inputs = try sample.portInputs().enumerated().map { builder.input("\($0)", $1.type) }
        builder.output("y", try sample.applied(to: inputs, in: &builder)[0])
        let graph = try CompressedProgram(functions: [builder.finish().freezing(ShapeBindings())], weights: []).graph()
        let bytes = try graph.encoded()
        let again = try Self.read(bytes)
        #expect(try again.encoded() == bytes)
        #expect(again.functions[0].program.description == graph.functions[0].program.description)
        let plan = try again.planned()
        #expect(try Self.planText(plan) == Self.planText(graph.planned()))
        try PlanCheck.check(plan)
    }

    @Test("The recipe does not show in the bytes", arguments: Codecs.all.map { $0.name })
    func recipes(compress: String) throws {
        let expected = try TinyModel(compress: "float32").contents().graph.encoded()
        #expect(try TinyModel(compress: compress).contents().graph.encoded() == expected)
    }

    /// Two functions that share a state.
    private static func functions() throws -> [FrozenProgram] {
        try ["first", "second"].map { name in
            var builder = ProgramBuilder(name: name)
            let x = builder.input("x", TensorType(.float32, [3]))
            let sum = builder.state("sum", TensorType(.float32, [3]), initial: 0.5)
            let next = try builder.in("sum") { try $0.apply(Add(), [sum, x]) }
            builder.update("sum", to: next)
            builder.output("before", sum)
            builder.output("after", try builder.in("gelu") { try $0.apply(Gelu(.erf), [next]) })
            return try builder.finish().freezing(ShapeBindings())
        }
    }

    /// A change of the first function, and a part of the sentence that rejects it.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout [FrozenProgram]) -> Void
        init(_ reason: String, _ change: @escaping @Sendable (Program) -> Program) {
            self.init(reason, all: { $0[0] = FrozenProgram(frozen: change($0[0].program), bindings: $0[0].bindings) })
        }
        init(_ reason: String, all change: @escaping @Sendable (inout [FrozenProgram]) -> Void) {
            (testDescription, self.change) = (reason, change)
        }
    }

    private static func state(
        _ program: Program, name: String? = nil, next: Value? = nil, initial: Double? = nil
    ) -> Program {
        let state = program.states[0]
        return program.with(states: [
            .init(
                name: name ?? state.name, value: state.value, next: next ?? state.next,
                initial: initial ?? state.initial)
        ])
    }

    private static func type(_ program: Program, of value: Value, _ type: TensorType) -> Program {
        var types = program.types
        types[value.id] = type
        return program.with(types: types)
    }

    private static func node(
        _ program: Program, label: String? = nil, operation: (any Operator)? = nil, inputs: [Value]? = nil
    ) -> Program {
        let node = program.nodes[0]
        let changed = Program.Node(
            label: label ?? node.label, operation: operation ?? node.operation, inputs: inputs ?? node.inputs,
            outputs: node.outputs)
        return program.with(nodes: [changed] + program.nodes.dropFirst())
    }

    static let cases: [Case] = [
        Case("two functions have the name \"second\"") { $0.with(name: "second") },
        Case("starts as 0.5, but as 1.0 in function \"first\"") { state($0, initial: 1) },
        Case("state \"sum\" is to start as nan, which F32 does not hold") { state($0, initial: .nan) },
        Case("is to start as 0.1, which F32 does not hold") { state($0, initial: 0.1) },
        Case("state \"x\" has the name of an input") { state($0, name: "x") },
        Case("two inputs or states have the same name") { $0.with(states: $0.states + $0.states) },
        Case("two inputs or states have the same name") { $0.with(inputs: $0.inputs + $0.inputs) },
        Case("two outputs have the same name") { $0.with(outputs: $0.outputs + $0.outputs) },
        Case("is too large") {
            type($0, of: $0.states[0].value, TensorType(.float32, [.fixed(1 << 40), .fixed(1 << 40)]))
        },
        Case("values are F32, I64 or BOOL") { type($0, of: $0.inputs[0].value, TensorType(.float16, [3])) },
        Case("first\": add \"sum.add\"") { type($0, of: $0.inputs[0].value, TensorType(.float32, [4])) },
        Case("state \"sum\" is F32[1], but is updated with F32[3]") {
            type($0, of: $0.states[0].value, TensorType(.float32, [1]))
        },
        Case("is F32, but I64 in function \"first\"") { program in
            let next = program.with(
                nodes: [], outputs: [],
                states: [.init(name: "sum", value: Value(id: 1), next: Value(id: 1), initial: 0)])
            return type(next, of: Value(id: 1), TensorType(.int64, [3]))
        },
        Case("two nodes have the label \"gelu.gelu\"") { node($0, label: "gelu.gelu") },
        Case("expected 2 inputs, found 1") { node($0, inputs: [Value(id: 0)]) },
        Case("value is 3, but may be at most 1") { node($0, inputs: [Value(id: 0), $0.nodes[1].outputs[0]]) },
        Case("there is no operator \"probe\" in accelc") { node($0, operation: Probe()) },
    ]

    @Test("what cannot be run, or could be written otherwise, is rejected by name", arguments: cases)
    func rejected(example: Case) throws {
        var functions = try Self.functions()
        _ = try Self.read(GraphEncoder.encode(functions, constants: []))
        example.change(&functions)
        let bytes = try GraphEncoder.encode(functions, constants: [])
        let error = try #require(throws: FormatError.self) { try Self.read(bytes) }
        #expect(error.reason.contains(example.testDescription), "\(error)")
    }

    @Test("an operator of a later version is rejected with the sentence that a later accelc reads it")
    func laterOperator() throws {
        var bytes = try GraphEncoder.encode(Self.functions(), constants: []).array
        // The list of operators follows the strings: their count, then name and version of each.
        let start = try #require(bytes.indices.first { Array(bytes[$0...].prefix(5)) == [2, 0, 1, 1, 1] })
        bytes[start + 2] = 2
        let error = try #require(throws: FormatError.self) { try Self.read(ByteView(bytes)) }
        #expect(error.reason.contains("the operator add is of version 2, and accelc"), "\(error)")
        #expect(error.reason.contains("read the package with a later accelc"))
    }

    @Test("a table that is encoded otherwise than stored, and a constant without an encoding, are rejected")
    func encodings() throws {
        let contents = try TinyModel().contents()
        let bytes = try contents.graph.encoded()
        let tensor = try #require(contents.graph.tensors.first)
        let empty = WeightIndex(sections: [], encodings: [])
        var decoder = try GraphDecoder(bytes, file: "graph.bin")
        let missing = try #require(throws: FormatError.self) {
            try empty.tensors(of: decoder.constants, blobs: [], file: "weights.bin")
        }
        #expect(missing.reason == "has 0 encodings for the graph's 4 constants")
        let tables = decoder.constants.map {
            GraphConstant(name: $0.name, elementType: $0.elementType, shape: $0.shape, isWeight: false)
        }
        decoder = try GraphDecoder(GraphEncoder.encode(contents.graph.functions, constants: tables), file: "graph.bin")
        let blob = tensor.sections[0]
        let index = WeightIndex(
            sections: [Section(blob: 0, offset: 0, byteCount: blob.count, digest: TreeDigest.digest(of: blob))],
            encodings: [.init(codec: "float16", sections: [0])])
        let table = try #require(throws: FormatError.self) {
            try index.tensors(of: Array(decoder.constants.prefix(1)), blobs: [blob], file: "weights.bin")
        }
        #expect(table.reason == "is a table, and those are stored")
    }
}

private struct Probe: Operator {
    static let name = "probe"
    static let inputs: [OperatorInput] = []
    init() {}
    init(attributes: Attributes) throws {}
    var attributes: Attributes { ["a": .integer(-5), "b": .number(0.1), "c": .word("w"), "d": .flag(true)] }
    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] { [] }
    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { [] }
}
