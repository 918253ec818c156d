import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Roles in Core ML packages")
struct CoreMLInterfaceTests {
    /// A table of words beside a cache that is written at a position.
    private static func function() throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "decoder", role: .decode)
        let table = StoredTensor(name: "words", floats: (0..<36).map { Float($0) / 8 }, shape: [9, 4])
        let words = builder.constant(table, isWeight: true)
        let tokens = builder.input("tokens", TensorType(.int64, [1, 3]), .tokens(vocabulary: 9))
        let position = builder.input("position", TensorType(.int64, [1]), .position)
        let cache = builder.state("k.0", TensorType(.float32, [1, 1, 8, 4]), .keyValueCache(.keys, layer: 0))
        let x = try builder.apply(Gather(), [words, tokens])
        let block = try builder.apply(Reshape(to: [1, 1, 3, 4]), [x])
        let next = try builder.apply(UpdateSlice(axis: 2), [cache, block, position])
        builder.update("k.0", to: next)
        builder.output("last_hidden_state", try builder.apply(Relu(), [x]), .hiddenStates)
        return try builder.finish().freezing(ShapeBindings())
    }

    private static func exported() throws -> CoreMLDraft {
        let program = try Recipe(default: Codecs.codec("float16")).compressing([function()], threads: 1)
        return try CoreMLExporter(
            CoreMLOptions(target: .iOS18, floatType: .float16, layout: .plain, allowsFallback: false)
        ).draft(of: ExportedModel(program: program, family: "sample", provenance: []))
    }

    private static func package(_ model: CoreMLModel, of draft: CoreMLDraft) throws -> CoreMLPackage {
        try withTemporaryFolder { folder in
            try draft.weights.blobs.write(to: "\(folder)/weight.bin")
            let weights = try MappedFile("\(folder)/weight.bin").bytes
            return try CoreMLPackage(model: ByteView(model.encoded), weights: weights, path: "x.mlpackage")
        }
    }

    @Test("An export has the roles of its model, under Core ML's names, and describes its features by them")
    func kept() throws {
        let draft = try Self.exported()
        let package = try Self.package(draft.model, of: draft)
        let interface = try package.program().program.interface
        #expect(interface.role == .prefill)
        #expect(try package.part(of: "main") == "decoder")
        #expect(interface.inputs == ["tokens": .tokens(vocabulary: 9), "position": .position])
        #expect(interface.states == ["k_0": .keyValueCache(.keys, layer: 0)])
        #expect(interface.outputs == ["last_hidden_state": .hiddenStates])
        let features = package.model.interfaces[0].inputs
        #expect(features.map(\.description) == ["tokens, vocabulary 9", "position"])
    }

    @Test("A model of another tool has opaque ports; roles that do not go with its ports are an error of the package")
    func foreign() throws {
        let draft = try Self.exported()
        var model = draft.model
        model.metadata.other.removeAll { $0.name == CoreMLExporter.interfaceKey }
        let package = try Self.package(model, of: draft)
        #expect(try package.program().program.interface == Interface())
        #expect(try package.part(of: "main") == nil)

        for text in [#"[{"part":"decoder","interface":{"role":1}}]"#, "roles"] {
            model.metadata.other.append(MILNamed(CoreMLExporter.interfaceKey, text))
            #expect(throws: FormatError.self) { try Self.package(model, of: draft).program() }
            model.metadata.other.removeLast()
        }
        let wrong = draft.model.metadata.other.first { $0.name == CoreMLExporter.interfaceKey }?.content
            .replacing("\"tokens\":{\"kind\":\"tokens\",\"vocabulary\":9}", with: "\"tokens\":{\"kind\":\"position\"}")
        model.metadata.other.append(MILNamed(CoreMLExporter.interfaceKey, try #require(wrong)))
        #expect(throws: FormatError.self) { try Self.package(model, of: draft).program() }
    }
}
