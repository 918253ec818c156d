import Foundation
import TestSupport
import Testing

@Suite("Fixtures through the tool")
struct FixtureTests {
    private static let families = ["bert_", "gemma", "llama_", "mistral_", "moonshine_", "phi3_", "qwen", "whisper_"]

    /// One has no fixed shape; of the other's 48 caches, after 24 layers, one sample of the framework's noise bounds none.
    private static let others = ["llama_dynamic", "llama_deep"]

    /// Every model of these families with a golden file: the small ones of this repository, and the cases beside the
    /// checkout. Where a golden has no steps, its file does not tell the cache's length.
    static let models: [String] = {
        let folders = [Fixtures.path("")] + (Fixtures.sharedCases.map { [$0] } ?? [])
        return folders.flatMap { folder in
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            return names.filter { name in families.contains { name.hasPrefix($0) } && !others.contains(name) }
                .map { URL(filePath: folder).appending(path: $0).path }
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
