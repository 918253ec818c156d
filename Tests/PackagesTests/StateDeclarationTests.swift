import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

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

    private static func graph() throws -> ModelGraph {
        try CompressedProgram(
            functions: [try counter("first"), try counter("second"), try counter("wide", width: 5)], weights: []
        ).graph()
    }

    @Test("name, type, shape and initial value are in the manifest, by its schema, and in the program")
    func declared() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try Self.graph()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            let document = try JSON.read("\(folder)/p/manifest.json")
            #expect(try JSONSchema(named: "manifest.schema.json").violations(of: document) == [])
            let state = try JSONField(document, file: "manifest.json")["functions"].array()[0]["state"].array()[0]
            #expect(state.value?.text() == #"{"name":"sum","type":"F32","shape":[3],"initial":0.5}"#)
            let package = try AcceleratorPackage(at: "\(folder)/p")
            let expected = FrozenProgram.State(name: "sum", elementType: .float32, shape: [3], initial: 0.5)
            #expect(package.graph.functions[0].states == [expected])
            #expect(package.manifest.functions[1].states == [expected])
        }
    }

    @Test("a manifest that says another state than the program is refused")
    func manifestDiffers() throws {
        try withTemporaryFolder { folder in
            var contents = try TinyModel().contents()
            contents.graph = try Self.graph()
            contents.coverage = []
            try PackageWriter.write(contents, to: "\(folder)/p")
            var manifest = try AcceleratorPackage(at: "\(folder)/p").manifest
            manifest.functions[0].states[0].initial = 2
            try write(Array(manifest.text.utf8), to: "\(folder)/p/manifest.json")
            let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: "\(folder)/p") }
            #expect(error.reason.contains("does not say what graph.bin holds"), "\(error)")
        }
    }
}
