import ByteIO
import Programs
import Tensors
import TestSupport
import Testing
import WeightCompression

@testable import Packages

@Suite("No kernel sees a call that does not fit")
struct ProgramValidatorTests {
    private static func function() throws -> CompiledProgram { try TinyModel().contents().program }

    /// A change of the first function, and a part of the sentence that refuses it.
    struct Case: Sendable, CustomTestStringConvertible {
        var reason: String
        var change: @Sendable (inout CompiledFunction) -> Void
        init(_ reason: String, _ change: @escaping @Sendable (inout CompiledFunction) -> Void) {
            self.reason = reason
            self.change = change
        }
        var testDescription: String { reason }
    }

    static let cases: [Case] = [
        Case("there is no weight 99") { $0.calls[0].inputs[0].storage = .weight(99) },
        Case("there is no input 9") { $0.calls[0].inputs[1].storage = .input(9) },
        Case("does not fit weight") { $0.calls[0].inputs[0].layout = StridedLayout(shape: [47, 32]) },
        Case("does not fit weight") { $0.calls[0].inputs[0].layout.offset = 1 },
        Case("does not lie in \"input_ids\"") { $0.calls[0].inputs[1].layout = StridedLayout(shape: [1, 5]) },
        Case("does not lie in \"input_ids\"") { $0.calls[0].inputs[1].layout.strides = [1, 2] },
        Case("does not lie in the arena") { $0.calls[0].outputs[0].storage = .arena(1 << 30) },
        Case("does not lie in the arena") { $0.calls[0].outputs[0].storage = .arena(-64) },
        Case("does not lie in the arena") { $0.calls[0].outputs[0].storage = .arena(1) },
        Case("does not lie in the arena") { $0.arenaBytes = 64 },
        Case("is too large") { $0.calls[0].outputs[0].layout.strides = [1 << 62, 1 << 62, 1 << 62] },
        Case("is too large") { $0.calls[0].outputs[0].layout.offset = Int.max },
        Case("is too large") { $0.calls[0].outputs[0].layout.strides = [1] },
        Case("is too large") {
            $0.calls[0].outputs[0].layout = StridedLayout(shape: [1 << 40, 1 << 40], strides: [0, 0])
        },
        Case("is neither in the arena nor in a state") {
            $0.calls[0].outputs[0].storage = .weight(0); $0.calls[0].outputs[0].layout = StridedLayout(shape: [48, 32])
        },
        Case("overlaps an input") { $0.calls[1].outputs[0].storage = $0.calls[1].inputs[0].storage },
        Case("values are F32, I64 or BOOL") { $0.calls[0].outputs[0].elementType = .float16 },
        Case("but its outputs are") { $0.calls[0].outputs[0].layout = StridedLayout(shape: [1, 4, 31]) },
        Case("expected 2 inputs") { $0.calls[0].inputs.removeLast() },
        Case("cannot write") { $0.calls[0].outputs[0].layout.strides = [0, 0, 1] },
        Case("output \"last_hidden_state\"") { $0.outputs[0].operand.storage = .arena($0.arenaBytes) },
        Case("the same name") { $0.inputs.append($0.inputs[0]) },
        Case("an arena of") { $0.arenaBytes = Int.max },
    ]

    @Test("a call or output that does not fit is refused by name", arguments: cases)
    func refused(_ example: Case) throws {
        var program = try Self.function()
        try ProgramValidator.validate(program, file: "program.bin")
        example.change(&program.functions[0])
        let error = try #require(throws: FormatError.self) {
            try ProgramValidator.validate(program, file: "program.bin")
        }
        #expect(error.reason.contains(example.reason), "\(error)")
        #expect(error.reason.hasPrefix("function \"model[sequence=4]\""))
    }

    @Test("two functions of one name are refused")
    func names() throws {
        var program = try Self.function()
        program.functions.append(program.functions[0])
        #expect(throws: FormatError.self) { try ProgramValidator.validate(program, file: "program.bin") }
    }

    @Test("attributes of every kind come back")
    func attributes() throws {
        let program = CompiledProgram(
            functions: [
                CompiledFunction(
                    name: "f", part: "model", bindings: ShapeBindings(),
                    inputs: [.init(name: "x", elementType: .float32, shape: [2, 3])],
                    outputs: [], arenaBytes: 64,
                    calls: [
                        KernelCall(
                            operation: Probe(), label: "probe", inputs: [], outputs: [])
                    ])
            ], weights: [])
        let bytes = try ProgramEncoder.encode(program.functions, weights: [], sections: [])
        // The registry does not know the operator, and says so.
        let error = try #require(throws: FormatError.self) { try ProgramDecoder.decode(bytes, file: "program.bin") }
        #expect(error.reason.contains("there is no operator \"probe\""))
    }
}

private struct Probe: Operator {
    static let name = "probe"
    init() {}
    init(attributes: Attributes) throws {}
    var attributes: Attributes {
        [
            "a": .integer(-5), "b": .number(0.1), "c": .word("w"), "d": .flag(true), "e": .integers([1, -2]),
            "f": .dimensions([3]),
        ]
    }
    func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] { [] }
    func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] { [] }
}
