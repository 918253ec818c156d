import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Parity of a program with the model that it was made from")
struct ParityTests {
    @Test("A right package passes every stage", arguments: SelfTestTests.codecs)
    func passes(codec: String) throws {
        let model = try TinyModel()
        let report = try Parity(
            of: .planned(try model.planned(codec, ["batch=2,sequence=8", "batch=1,sequence=5"])),
            against: .reference([model.program])
        ).check()
        #expect(report.failures.isEmpty, "\(report.terminal())")
        #expect(report.exitStatus == .success)
        #expect(report.weights.count >= 9)
        #expect(report.comparisons(in: .graph) == 4 && report.comparisons(in: .outputs) == 4)
        #expect(report.operators.contains { $0.label == "layer.0.up.gelu" && $0.propagated != nil })
        if codec == "float32" {
            #expect(report.weights.allSatisfy { $0.metrics.isExact })
        } else {
            let query = try #require(report.operators.first { $0.label == "layer.0.query.linear" })
            #expect(query.injected.sqnr < 90 && query.kernel.sqnr > 110)
        }
    }

    @Test("Every stage can run alone", arguments: Stage.allCases.filter { $0 != .container })
    func alone(stage: Stage) throws {
        let model = try TinyModel()
        let report = try Parity(of: .planned(try model.planned("float16")), against: .reference([model.program]))
            .check(.init(stages: [stage]))
        #expect(report.exitStatus == .success)
        for other in Stage.allCases { #expect((report.comparisons(in: other) > 0) == (other == stage)) }
    }

    @Test("A weight of another checkpoint fails the weights stage by name")
    func otherWeights() throws {
        let (model, other) = (try TinyModel(), try TinyModel(seed: 8))
        let report = try Parity(of: .planned(try model.planned("float16")), against: .reference([other.program]))
            .check()
        #expect(report.exitStatus == .exceeded)
        #expect(report.failures.contains { $0.stage == .weights && $0.name == "layer.0.query.weight" })
        #expect(report.failures.contains { $0.stage == .outputs })
    }

    @Test("A missing and an extra weight are failures")
    func misfits() throws {
        let model = try TinyModel()
        var program = try model.planned("float32")
        let weight = try #require(program.weights.first { $0.name == "norm.bias" })
        let index = try #require(program.weights.firstIndex { $0.name == "norm.bias" })
        program.weights[index] = try CompressedTensor(
            name: "norm.offset", elementType: weight.elementType, shape: weight.shape, codec: weight.codec,
            sections: weight.sections, file: "memory")
        let report = try Parity(of: .planned(program), against: .reference([model.program]))
            .check(.init(stages: [.weights]))
        #expect(report.misfits.count == 2)
        #expect(
            report.misfits.contains { $0.contains("norm.offset") }
                && report.misfits.contains { $0.contains("norm.bias") })
        #expect(report.exitStatus == .exceeded)
    }

    @Test("The report's bytes depend neither on threads nor on the run")
    func determinism() throws {
        let model = try TinyModel()
        let parity = Parity(of: .planned(try model.planned("float16")), against: .reference([model.program]))
        let (one, two) = (try parity.check(.init(threads: 1)), try parity.check(.init(threads: 2)))
        #expect(one.json.text(pretty: true) == two.json.text(pretty: true))
        #expect(one.html == two.html && one.terminal() == two.terminal())
        let other = try parity.check(.init(inputs: .seeded(2)))
        #expect(other.json != one.json && other.inputs.contains("seed 2"))
    }

    @Test("A package in a folder is checked against its digests, and names its digest in the report")
    func package() throws {
        let model = try TinyModel()
        let compressed = try model.compressed("float16")
        try withTemporaryFolder { folder in
            let path = "\(folder)/tiny.accelpkg"
            let digest = try PackageWriter.write(
                PackageContents(
                    graph: try compressed.graph(), coverage: compressed.weights.map { CoverageEntry($0) },
                    provenance: Provenance(
                        sources: [], family: "tiny", recipe: "float16", shapes: ["batch=2,sequence=8"])),
                to: path)
            let package = try AcceleratorPackage(at: path)
            let report = try Parity(of: .package(package), against: .reference([model.program])).check()
            #expect(report.exitStatus == .success)
            #expect(report.json["package"] == .string(digest.description))
            #expect(report.coverage.count == compressed.weights.count)
            try package.store(report: report.json)
            #expect(try AcceleratorPackage(at: path).report == report.json)
        }
    }

    @Test("Every function runs over all samples of a file; a file for none is exit status 3")
    func inputFiles() throws {
        // The masks have zeros.
        let padded = "; without padding"
        let model = try TinyModel()
        let program = try model.planned("float32", ["batch=2,sequence=8", "batch=1,sequence=5"])
        let parity = Parity(of: .planned(program), against: .reference([model.program]))
        try withTemporaryFolder { folder in
            func write(_ shape: Shape) throws -> String {
                let path = "\(folder)/in.safetensors"
                try SafetensorsWriter.write(
                    ["input_ids", "attention_mask"].map {
                        StoredTensor(name: $0, integers: (0..<shape.count).map { Int64($0 % 2) }, shape: shape)
                    }, to: path, as: .part)
                return path
            }
            // Two samples at once and one: of three samples these are two runs, where the first sample comes again, and three.
            for (samples, runs) in [(1, 2), (3, 5)] {
                let report = try parity.check(.init(inputs: .file(InputFile(try write([samples, 5])))))
                #expect(report.exitStatus == .success)
                #expect(report.notCompared.isEmpty)
                #expect(report.inputs == "file in.safetensors" + (runs > 2 ? "; \(runs) runs" : "") + padded)
                #expect(Set(report.outputs.map(\.function)) == Set(program.functions.map(\.name)))
            }
            let wrong = try write([5])
            let error = #expect(throws: RequestError.self) { try parity.check(.init(inputs: .file(InputFile(wrong)))) }
            #expect(error?.exitStatus == .unavailable)
            #expect(error?.description.contains("I64[5]") == true && error?.description.contains("I64[2,8]") == true)
        }
    }

    @Test("Without a model and without a golden there is nothing to compare with")
    func nothing() throws {
        let program = try TinyModel().planned("float32")
        let error = #expect(throws: RequestError.self) { try Parity(of: .planned(program), against: nil).check() }
        #expect(error?.exitStatus == .unavailable)
        let report = try Parity(of: .planned(program), against: nil).check(.init(stages: [.weights]))
        #expect(report.verdict == .nothingCompared && report.exitStatus == .unavailable)
    }
}
