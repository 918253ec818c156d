import Foundation
import TestSupport
import Testing

@Suite("Fixtures through the tool")
struct FixtureTests {
    /// Every model with a golden file: the small ones of this repository, and the BERT cases beside the checkout.
    static let models: [String] = {
        let folders = [Fixtures.path("")] + (Fixtures.sharedCases.map { [$0] } ?? [])
        return folders.flatMap { folder in
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            return names.filter { $0.hasPrefix("bert_") }.map { URL(filePath: folder).appending(path: $0).path }
        }.filter { FileManager.default.fileExists(atPath: "\($0)/golden.safetensors") }
    }()

    @Test("Without loss, the outputs are the framework's, within its own noise", arguments: models)
    func golden(_ model: String) throws {
        try withTemporaryFolder { folder in
            let golden = "\(model)/golden.safetensors"
            let convert = ["convert", model, "--shape-from", golden, "--compress", "float32", "-o", "p.accelpkg"]
            let converted = try CommandRunner.run(convert, in: folder)
            #expect(converted.status == 0, "\(converted.errors)")
            let verified = try CommandRunner.run(["verify", "p.accelpkg", "--golden", golden], in: folder)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }
}
