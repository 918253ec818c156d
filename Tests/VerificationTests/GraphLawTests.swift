import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("The graph of a package")
struct GraphLawTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let fixture: String
        let shapes: [String]
        var testDescription: String { fixture }

        static let all = [
            Case(fixture: "bert_base", shapes: ["batch=2,sequence=5", "batch=1,sequence=8"]),
            Case(fixture: "modernbert_mlm", shapes: ["batch=1,sequence=12"]),
            Case(fixture: "qwen3_small", shapes: ["batch=1,tokens=3,cache=8", "batch=1,tokens=1,cache=8"]),
            Case(fixture: "gemma3_old", shapes: ["batch=1,tokens=3,cache=8", "batch=1,tokens=1,cache=8"]),
            Case(fixture: "whisper_small", shapes: ["batch=1,frames=8,tokens=1,cache=4"]),
            Case(fixture: "moonshine_small", shapes: ["batch=1,samples=1300,tokens=1,cache=4"]),
            Case(fixture: "vit_tall", shapes: ["batch=1"]),
            Case(fixture: "clip_end", shapes: ["batch=1,sequence=4"]),
            Case(fixture: "siglip_both", shapes: ["batch=1,sequence=7"]),
            Case(fixture: "wav2vec2_odd", shapes: ["batch=1,samples=400"]),
            Case(fixture: "parakeet_ctc", shapes: ["batch=1,frames=20"]),
            Case(fixture: "parakeet_tdt", shapes: ["batch=1,frames=20"]),
            Case(fixture: "kokoro_small", shapes: ["batch=1,asr_frames=4,frames=8"]),
            Case(fixture: "snac_plain", shapes: ["batch=1,frames=4"]),
        ]

        func graph(_ recipe: String) throws -> ModelGraph {
            let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
            let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint).programs
            let frozen = try programs.freezing(shapes.map { try ShapeBindings(parsing: $0) })
            return try Recipe(default: Codecs.codec(recipe)).compressing(frozen, threads: 2).graph()
        }
    }

    private static func text(_ program: ModelPlan) -> [String] {
        program.functions.flatMap { function in
            ["\(function.name) \(function.arenaBytes) \(function.states)"]
                + function.calls.map { "\($0.operation) \($0.label) \($0.inputs) \($0.outputs)" }
                + function.outputs.map { "\($0)" }
        }
    }

    @Test(
        "its bytes do not depend on the recipe, and it comes back with the plan that the conversion had",
        arguments: Case.all)
    func families(subject: Case) throws {
        let graph = try subject.graph("float16")
        #expect(try subject.graph("int8").encoded() == graph.encoded())
        try withTemporaryFolder { folder in
            let provenance = Provenance(sources: [], family: "", recipe: .null, shapes: [])
            try PackageWriter.write(
                PackageContents(graph: graph, coverage: [], provenance: provenance), to: "\(folder)/p")
            let package = try AcceleratorPackage(at: "\(folder)/p")
            #expect(try package.graph.encoded() == graph.encoded())
            #expect(try Self.text(package.graph.planned()) == Self.text(graph.planned()))
            try PlanCheck.check(package.graph.planned())
            // The passes have nothing left to do.
            for function in package.graph.functions {
                #expect(try function.optimized().program.nodes.count == function.program.nodes.count)
            }
        }
    }

    @Test("of a released format is read as it was written, and proves to be the model's")
    func kept() throws {
        let package = try AcceleratorPackage(at: Fixtures.path("packages/format_3.0"))
        try package.check()
        try withTemporaryFolder { folder in
            let digest = try PackageWriter.write(package.contents, to: "\(folder)/p")
            #expect(digest == package.digest)
        }
        let checkpoint = try Checkpoint(model: Fixtures.path("qwen3_small"))
        let model = try OriginalModel(checkpoint, for: package, threads: 2)
        // The package has the labels of its version of the family: the nodes of positions are called otherwise today.
        #expect(package.graph.functions[0].program.nodes.contains { $0.label == "places.cos" })
        let today = try Families.matching(checkpoint.configuration).model(for: checkpoint).programs[0]
        #expect(
            today.nodes.contains { $0.label == "positions.cos" }
                && !today.nodes.contains { $0.label.hasPrefix("places") })
        let report = try Parity(of: .package(package), against: .model(model)).check()
        #expect(report.exitStatus == .success, "\(report.terminal())")
    }

    @Test("of format 2 is rejected with the sentence that the model has to be converted again")
    func rejected() throws {
        let path = Fixtures.path("packages/format_2.0")
        #expect(AcceleratorPackage.looksLikePackage(at: path))
        let error = try #require(throws: FormatError.self) { try AcceleratorPackage(at: path) }
        #expect(error.location == .field("format.major"))
        #expect(
            error.reason
                == "this package has format 2.0, which accelc \(Tool.version) no longer reads: convert the model again"
        )
    }

    @Test("made by another version of a family or a pass is proved by numbers, and verify says so")
    func otherVersions() throws {
        let package = try AcceleratorPackage(at: Fixtures.path("packages/format_3.0"))
        let checkpoint = try Checkpoint(model: Fixtures.path("qwen3_small"))
        var contents = try package.contents
        let version = try OriginalModel(checkpoint, for: package, threads: 2).familyVersion
        contents.provenance.familyVersion = version
        let node = try #require(contents.graph.functions[0].program.nodes.first)
        let renamed = Program.Node(
            label: "another", operation: node.operation, inputs: node.inputs, outputs: node.outputs)
        func report() throws -> ParityReport {
            try withTemporaryFolder { folder in
                try PackageWriter.write(contents, to: "\(folder)/p")
                let package = try AcceleratorPackage(at: "\(folder)/p")
                let model = try OriginalModel(checkpoint, for: package, threads: 2)
                return try Parity(of: .package(package), against: .model(model)).check()
            }
        }
        let function = contents.graph.functions[0]
        let program = function.program
        contents.graph.functions[0] = FrozenProgram(
            frozen: program.with(nodes: [renamed] + program.nodes.dropFirst()), bindings: function.bindings)
        let different = try report()
        #expect(different.exitStatus == .exceeded)
        #expect(different.structure?.differences.contains { $0.reason.contains("\"another\"") } == true)

        contents.provenance.familyVersion = version + 5
        contents.provenance.passVersions["fold-constants"] = nil
        let remarked = try report()
        let remarks = try #require(remarked.structure?.remarks)
        #expect(
            remarks.contains { $0.contains("version \(version + 5) of the family qwen3 (here it is \(version))") },
            "\(remarks)")
        #expect(remarks.contains { $0.contains("version 0 of the pass fold-constants (here it is 1)") })
        #expect(remarked.exitStatus == .success, "\(remarked.terminal())")
    }
}
