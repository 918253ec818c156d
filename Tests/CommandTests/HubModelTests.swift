import Foundation
import HubTestSupport
import TestSupport
import Testing

/// Models of the Hub by name, from a local server that speaks its API. The protocol itself is tested in HubTests.
@Suite("Models of the Hub, where curl is", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")))
struct HubModelTests {
    private static let commit = String(repeating: "ab", count: 20)

    private func server(_ fixture: String, _ more: [String: String] = [:]) throws -> LocalHub {
        let folder = Fixtures.path(fixture)
        var files: [String: LocalHub.File] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            guard let content = FileManager.default.contents(atPath: "\(folder)/\(name)") else { continue }
            files[name] = LocalHub.File([UInt8](content), isLarge: name.hasSuffix(".safetensors"))
        }
        for (name, text) in more { files[name] = LocalHub.File(text) }
        return try LocalHub("tiny/model", commit: Self.commit, files: files)
    }

    private func variables(_ server: LocalHub, in folder: String) -> [String: String] {
        ["HF_ENDPOINT": server.endpoint, "HF_HOME": "\(folder)/hf", "HF_HUB_OFFLINE": ""]
    }

    @Test("a named model is downloaded once, answers, and is there without a network the next time")
    func prompt() throws {
        let server = try server("text/llama")
        try withTemporaryFolder { folder in
            let words = ["run", "hf:tiny/model", "--prompt", "The sky", "--generate", "8", "--temperature", "0"]
            let first = try CommandRunner.runProcess(words, in: folder, environment: variables(server, in: folder))
            #expect(first.status == 0 && !first.output.isEmpty, "\(first.errors)")
            server.forget()
            let second = try CommandRunner.runProcess(words, in: folder, environment: variables(server, in: folder))
            #expect(second.output == first.output && server.requests.isEmpty)
            let offline = try CommandRunner.runProcess(
                words + ["--offline"], in: folder, environment: variables(server, in: folder))
            #expect(offline.output == first.output && server.requests.isEmpty)
            let converted = try CommandRunner.runProcess(
                ["convert", "hf:tiny/model"], in: folder, environment: variables(server, in: folder))
            #expect(converted.status == 0, "\(converted.errors)")
            // The package says which commit it was made of.
            let manifest = try String(contentsOfFile: "\(folder)/model.accelpkg/manifest.json", encoding: .utf8)
            #expect(manifest.contains(#""origin":"hf:tiny/model@\#(Self.commit)""#), "\(manifest.prefix(4000))")
        }
    }

    @Test("a model of a type that is not supported costs less than 100 kB")
    func unsupported() throws {
        let server = try server("text/llama", ["config.json": #"{"model_type": "perceiver"}"#])
        try withTemporaryFolder { folder in
            let result = try CommandRunner.runProcess(
                ["convert", "hf:tiny/model"], in: folder, environment: variables(server, in: folder))
            #expect(result.status == 3 && result.errors.contains("perceiver"), "\(result.errors)")
            #expect(server.sentBytes < 100_000)
            #expect(server.requests(of: "model.safetensors").isEmpty)
        }
    }

    @Test("without a network, and without a copy, the error names the model")
    func offline() throws {
        let server = try server("text/llama")
        try withTemporaryFolder { folder in
            let result = try CommandRunner.runProcess(
                ["inspect", "hf:tiny/model", "--offline"], in: folder, environment: variables(server, in: folder))
            #expect(result.status == 3 && result.errors.contains("hf:tiny/model"), "\(result.errors)")
            #expect(server.requests.isEmpty)
        }
    }
}
