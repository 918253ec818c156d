import ByteIO
import Programs
import Tensors
import TestSupport
import Testing
import WeightCompression

@testable import Packages

@Suite("States in the package format")
struct StateDeclarationTests {
    /// A running sum, of `width` numbers that start as `initial`.
    private static func counter(_ name: String, width: Int = 3, from initial: Double = 0.5) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: name)
        let x = builder.input("x", TensorType(.float32, [.fixed(width)]))
        let sum = builder.state("sum", TensorType(.float32, [.fixed(width)]), initial: initial)
        builder.update("sum", to: try builder.apply(Add(), [sum, x]))
        builder.output("before", sum)
        return try builder.finish().freezing(ShapeBindings())
    }

    private static func program() throws -> CompiledProgram {
        try CompressedProgram(
            functions: [try counter("first"), try counter("second"), try counter("wide", width: 5)], weights: []
        ).compiled()
    }

    @Test("name, type, shape and initial value are in the manifest, by its schema, and in the program")
    func declared() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.program = try Self.program()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            let document = try JSON.read("\(folder)/p/manifest.json")
            #expect(try JSONSchema(named: "manifest.schema.json").violations(of: document) == [])
            let state = try JSONField(document, file: "manifest.json")["functions"].array()[0]["state"].array()[0]
            #expect(state.value?.text() == #"{"name":"sum","type":"F32","shape":[3],"initial":0.5}"#)
            let package = try AcceleratorPackage(at: "\(folder)/p")
            let expected = CompiledFunction.State(name: "sum", elementType: .float32, shape: [3], initial: 0.5)
            #expect(package.program.functions[0].states == [expected])
            #expect(package.manifest.functions[1].states == [expected])
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout [CompiledFunction]) -> Void
        init(_ reason: String, _ change: @escaping @Sendable (inout [CompiledFunction]) -> Void) {
            (testDescription, self.change) = (reason, change)
        }
    }
    static let cases = [
        Case("starts as 1.0, but as 0.5 in function \"first\"") { $0[1].states[0].initial = 1 },
        Case("starts as 1.0, but as 0.5 in function \"first\"") { $0[2].states[0].initial = 1 },
        Case("is to start as nan, which F32 does not hold") { $0[0].states[0].initial = .nan },
        Case("is to start as 0.1, which F32 does not hold") { $0[0].states[0].initial = 0.1 },
        Case("is called as an input is") { $0[0].inputs[0].name = "sum" },
        Case("the same name") { $0[0].states.append($0[0].states[0]) },
        Case("is too large") { $0[0].states[0].shape = [1 << 40, 1 << 40] },
        Case("values are F32, I64 or BOOL") { $0[0].states[0].elementType = .float16 },
        Case("does not lie in \"sum\"") { $0[0].states[0].shape = [2] },
        Case("there is no state 0") { $0[0].states = [] },
        Case("is F32, but I64 in function \"first\"") { functions in
            functions[0].calls = []
            functions[0].outputs = []
            functions[0].states[0].elementType = .int64
            functions[0].states[0].initial = 0
        },
    ]

    @Test("inconsistent states are refused by name", arguments: cases)
    func refused(example: Case) throws {
        var program = try Self.program()
        try ProgramValidator.validate(program, file: "program.bin")
        example.change(&program.functions)
        let error = try #require(throws: FormatError.self) {
            try ProgramValidator.validate(program, file: "program.bin")
        }
        #expect(error.reason.contains(example.testDescription), "\(error)")
        #expect(error.reason.contains("function \""))
    }

    @Test("a manifest that says another state than the program is refused")
    func manifestDiffers() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.program = try Self.program()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            var manifest = try AcceleratorPackage(at: "\(folder)/p").manifest
            manifest.functions[0].states[0].initial = 2
            try write(Array(manifest.text.utf8), to: "\(folder)/p/manifest.json")
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: "\(folder)/p") }
            #expect(error.reason.contains("does not say what program.bin holds"), "\(error)")
        }
    }
}
