import Foundation
import TestSupport
import Testing

@Suite("Runtimes of other projects, where they are installed")
struct RuntimePeerTests {
    /// The Python that has them: ACCELC_PYTHON, or that of scripts/peers.sh.
    private static let python: String? = {
        let paths = [
            ProcessInfo.processInfo.environment["ACCELC_PYTHON"], "\(Fixtures.repository)/.build/peers-venv/bin/python",
        ]
        return paths.compactMap(\.self).first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    struct Door: CustomTestStringConvertible, Sendable {
        let runtime: String
        let format: String
        let fixture: String
        let words: [String]
        /// Its golden has inputs that the runtime takes.
        var hasGolden = true
        var testDescription: String { "\(runtime): \(fixture) \(words.joined(separator: " "))" }
    }

    private static let doors = [
        Door(
            runtime: "llama", format: "gguf", fixture: "llama_bfloat16",
            words: ["--compress", "q8_0", "--allow-fallback"]),
        Door(
            runtime: "llama", format: "gguf", fixture: "bert_base", words: ["--compress", "float32"], hasGolden: false),
        Door(
            runtime: "mlx", format: "mlx", fixture: "llama_bfloat16",
            words: ["--compress", "affine:bits=4,block=32,scales=weight", "--allow-fallback"]),
        Door(runtime: "ctranslate2", format: "ctranslate2", fixture: "qwen3_small", words: ["--quantization", "int8"]),
        Door(
            runtime: "ctranslate2", format: "ctranslate2", fixture: "whisper_small",
            words: ["--quantization", "float32"]),
        Door(
            runtime: "coreai", format: "coreai", fixture: "bert_base",
            words: ["--shape-from", "model/golden.safetensors"]),
        Door(
            runtime: "coreai", format: "coreai", fixture: "llama_bfloat16",
            words: ["--precision", "float32", "--shape-from", "model/golden.safetensors"]),
    ]

    @Test(
        "A runtime computes what the model does",
        .enabled(if: python != nil, "no Python with the runtimes: set ACCELC_PYTHON, or run scripts/peers.sh"),
        arguments: doors)
    func door(_ door: Door) throws {
        try withTemporaryFolder { folder in
            let manager = FileManager.default
            try manager.copyItem(atPath: Fixtures.path(door.fixture), toPath: "\(folder)/model")
            let tokenizer = Fixtures.path("ctranslate2/\(door.fixture)")
            for name in (try? manager.contentsOfDirectory(atPath: tokenizer)) ?? [] where name.hasPrefix("tokenizer") {
                try? manager.removeItem(atPath: "\(folder)/model/\(name)")
                try manager.copyItem(atPath: "\(tokenizer)/\(name)", toPath: "\(folder)/model/\(name)")
            }
            let export = ["export", "model", "--format", door.format, "--no-cache", "-o", "out", "-q"]
            let made = try CommandRunner.run(export + door.words, in: folder)
            #expect(made.status == 0, "\(made.errors)")
            let verify = [
                "verify", "out", "--against", "model", "--runtime", door.runtime, "--python", try #require(Self.python),
            ]
            for inputs in [["--seed", "1"]] + (door.hasGolden ? [["--golden", "model/golden.safetensors"]] : []) {
                let result = try CommandRunner.run(verify + inputs, in: folder)
                // 3: this Python lacks the runtime, and the message has the command that installs it.
                let isMissing = result.status == 3 && result.errors.contains("pip install")
                #expect(result.status == 0 || isMissing, "\(result.output)\(result.errors)")
            }
        }
    }
}
