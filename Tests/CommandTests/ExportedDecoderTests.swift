import TestSupport
import Testing

/// Right exports of decoders verify on any random inputs: their caches are those of runs, of which a step changes one position.
@Suite("Exported decoders")
struct ExportedDecoderTests {
    @Test(
        "a Core ML package of a decoder verifies in each scheme",
        arguments: ["llama_llama3", "gpt2_small"], ["int8", "int4", "palette:bits=4"])
    func coreML(_ fixture: String, _ scheme: String) throws {
        try withTemporaryFolder { folder in
            let model = Fixtures.path(fixture)
            let shapes = ["--shape", "batch=1,cache=24,tokens=6", "--shape", "batch=1,cache=24,tokens=1"]
            let made = try CommandRunner.run(
                ["export", model, "--format", "coreml", "--compress", scheme, "--no-cache", "-q", "-o", "p.mlpackage"]
                    + shapes, in: folder)
            try #require(made.status == 0, "\(made.errors)")
            for seed in 1...3 {
                let result = try CommandRunner.run(
                    ["verify", "p.mlpackage", "--against", model, "--seed", "\(seed)"], in: folder)
                #expect(result.status == 0, "seed \(seed): \(result.output)\(result.errors)")
            }
        }
    }
}
