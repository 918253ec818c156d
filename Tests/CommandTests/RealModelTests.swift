import Foundation
import TestSupport
import Testing

/// Right packages of real models verify, and planted faults in them do not. `scripts/peers/real_models.py` has more schemes and seeds.
@Suite("Real models, where pip fetches them")
struct RealModelTests {
    /// A model with the smallest shapes that have all of its functions.
    struct Model: CustomTestStringConvertible, Sendable {
        let name: String
        let path: String
        let shapes: [String]
        let schemes: [String]
        /// The self test runs each planted fault.
        var hasSelfTest = false
        var testDescription: String { name }
    }

    /// The models, or why they are not there.
    private static let fetched: Result<[Model], Unavailable> = Result {
        let real = try fetch("get_models.sh")
        let minilm = try fetch("get_minilm.sh")
        return [
            Model(
                name: "all-MiniLM-L6-v2", path: minilm, shapes: ["batch=1,sequence=32"],
                schemes: ["float16", "int8", "palette:bits=4"], hasSelfTest: true),
            Model(
                name: "SmolLM2-135M-Instruct", path: "\(real)/smollm2.gguf",
                shapes: ["batch=1,cache=32,tokens=8", "batch=1,cache=32,tokens=1"],
                schemes: ["keep"]
            ),
            Model(
                name: "Whisper base", path: "\(real)/whisper",
                shapes: ["frames=3000", "batch=1,frames=3000,cache=16,tokens=4"], schemes: ["float16"]),
        ]
    }
    .mapError { $0 as? Unavailable ?? Unavailable(reason: "\($0)") }

    private struct Unavailable: Error {
        let reason: String
    }

    /// Runs a script that prints the folder of what it has fetched.
    private static func fetch(_ script: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["\(Fixtures.repository)/scripts/\(script)"]
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let reason = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let folder = lines.split(separator: "\n").last else {
            throw Unavailable(reason: reason)
        }
        return String(folder)
    }

    static let models = (try? fetched.get()) ?? []
    static let reason: Comment = {
        if case .failure(let error) = fetched { return "\(error.reason)" }
        return "the models are there"
    }()

    @Test(
        "a right package verifies in each scheme, and the self test of the smallest catches all faults",
        .enabled(if: !models.isEmpty, reason),
        arguments: models)
    func verify(_ model: Model) throws {
        try withTemporaryFolder { folder in
            let shapes = model.shapes.flatMap { ["--shape", $0] }
            for (seed, scheme) in model.schemes.enumerated() {
                let made = try CommandRunner.run(
                    ["convert", model.path, "--compress", scheme, "--no-cache", "-q", "-o", "p.accelpkg"] + shapes,
                    in: folder)
                try #require(made.status == 0, "\(scheme): \(made.errors)")
                let isLast = model.hasSelfTest && seed == model.schemes.count - 1
                let result = try CommandRunner.run(
                    ["verify", "p.accelpkg", "--against", model.path, "--seed", "\(seed + 1)"]
                        + (isLast ? ["--self-test"] : []), in: folder)
                #expect(result.status == 0, "\(scheme): \(result.output)\(result.errors)")
            }
        }
    }
}
