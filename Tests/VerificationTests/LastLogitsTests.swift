import AccelByteIO
import AccelConversion
import AccelPackages
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Packages with logits of the last position only")
struct LastLogitsPackageTests {
    private static let fixture = "qwen3_small"

    private func withPackage(
        _ logits: LogitPositions, _ body: (AcceleratorPackage, _ folder: String) throws -> Void
    ) throws {
        try withTemporaryFolder { folder in
            var conversion = try Conversion(of: Fixtures.path(Self.fixture), compressedBy: "float32")
            conversion.shapeFiles = [Fixtures.path("\(Self.fixture)/golden.safetensors")]
            conversion.logits = logits
            try body(try conversion.convert(to: .folder("\(folder)/p.accelpkg")).package, folder)
        }
    }

    private func report(of package: AcceleratorPackage, golden: Bool = false) throws -> ParityReport {
        let checkpoint = try Checkpoint(model: Fixtures.path(Self.fixture))
        let model = try OriginalModel(checkpoint, for: package, threads: 2)
        let path = Fixtures.path("\(Self.fixture)/golden.safetensors")
        return try Parity(of: .package(package), against: .model(model))
            .check(golden ? .init(inputs: .golden(Golden(path))) : .init())
    }

    @Test("are the model's, and a golden of all positions is compared at the last one of each block")
    func verified() throws {
        try withPackage(.last) { package, _ in
            #expect(package.manifest.provenance.logits == .last)
            let drawn = try report(of: package)
            #expect(drawn.exitStatus == .success, "\(drawn.terminal())")
            let report = try report(of: package, golden: true)
            #expect(report.exitStatus == .success && report.notCompared.isEmpty, "\(report.terminal())")
            let golden = report.outputs.filter { $0.reference == .golden && $0.name.contains("logits") }
            #expect(Set(golden.map(\.name)).isSuperset(of: ["logits_full", "prefill_logits", "step0_logits"]))
            #expect(golden.allSatisfy { $0.shape == [1, 1, 47] })
        }
    }

    @Test("and what they say of it have to agree", arguments: LogitPositions.allCases)
    func contradiction(logits: LogitPositions) throws {
        try withPackage(logits) { package, folder in
            var contents = try package.contents
            contents.provenance.logits = logits == .all ? .last : .all
            try PackageWriter.write(contents, to: "\(folder)/q.accelpkg")
            let changed = try AcceleratorPackage(at: "\(folder)/q.accelpkg")
            let report = try report(of: changed)
            #expect(report.structure?.differences.isEmpty == false)
            #expect(report.exitStatus != .success)
        }
    }

    @Test("A model without token logits is no model of a package that says it has the last ones")
    func otherModel() throws {
        try withTemporaryFolder { folder in
            var conversion = try Conversion(of: Fixtures.path("bert_base"), compressedBy: "float32")
            conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 4])]
            let package = try conversion.convert(to: .folder("\(folder)/p.accelpkg")).package
            var contents = try package.contents
            contents.provenance.logits = .last
            try PackageWriter.write(contents, to: "\(folder)/q.accelpkg")
            let changed = try AcceleratorPackage(at: "\(folder)/q.accelpkg")
            let checkpoint = try Checkpoint(model: Fixtures.path("bert_base"))
            let model = try OriginalModel(checkpoint, for: changed, threads: 2)
            let report = try Parity(of: .package(changed), against: .model(model)).check()
            #expect(report.structure?.differences.map(\.name) == ["provenance logits"])
            conversion.logits = .last
            #expect(throws: RequestError.self) { try conversion.convert(to: .folder("\(folder)/r.accelpkg")) }
        }
    }
}
