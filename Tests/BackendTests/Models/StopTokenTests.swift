import Accel
import AccelByteIO
import AccelTensors
import BackendConformance
import TestSupport
import Testing

@Suite("Tokens that end a text")
struct StopTokenTests {
    private static let prompt: [Int64] = [5, 17, 3, 29, 11, 2]

    private func open(_ assets: [String: String], _ body: (AccelModel) async throws -> Void) async throws {
        let cases = try ConformanceCases()
        let plain = try AcceleratorPackage(at: cases.decoder("qwen3_small", "float32").path)
        var contents = try plain.contents
        contents.assets = assets.sorted { $0.key < $1.key }.map {
            Asset(name: $0.key, content: ByteView(Array($0.value.utf8)))
        }
        let path = "\(plain.path)-with-assets"
        try PackageWriter.write(contents, to: path)
        try await body(try await AccelModel(.path(path), configuration: .reproducible))
        withExtendedLifetime(cases) {}
    }

    private func generate(_ model: AccelModel, _ options: GenerationOptions = GenerationOptions()) async throws -> (
        tokens: [Int64], reason: GenerationSummary.Reason?
    ) {
        let stream = try model.makeSession().generate(from: Self.prompt, options)
        var tokens: [Int64] = []
        for try await token in stream { tokens.append(token) }
        return (tokens, stream.summary?.reason)
    }

    @Test(
        "the file of generation decides, else the configuration, which may have them in its text",
        arguments: [
            (["config.json": #"{"eos_token_id": 2}"#], [2]),
            (["config.json": #"{"eos_token_id": [2, 7, 2]}"#], [2, 7]),
            (["config.json": #"{"eos_token_id": 2}"#, "generation_config.json": #"{"eos_token_id": [7]}"#], [7]),
            (["config.json": #"{"eos_token_id": 2}"#, "generation_config.json": #"{"eos_token_id": null}"#], [2]),
            (["config.json": #"{"text_config": {"eos_token_id": 9}}"#], [9]),
            (["config.json": "{}"], []), ([:], []),
        ] as [([String: String], Set<Int64>)])
    func places(assets: [String: String], expected: Set<Int64>) async throws {
        try await open(assets) { model in
            let found = try model.stopTokens()
            #expect(found == expected)
        }
    }

    @Test("generation stops at the package's tokens unless it is told others; a package without any stops elsewhere")
    func generation() async throws {
        var all: [Int64] = []
        try await open([:]) { model in
            let found = try await generate(model)
            #expect(found.reason == .cacheFull)
            all = found.tokens
        }
        let stop = try #require(all.dropFirst(2).first)
        let end = try #require(all.firstIndex(of: stop))
        try await open(["config.json": #"{"eos_token_id": [46, \#(stop)]}"#]) { model in
            let found = try await generate(model)
            #expect(found.tokens == Array(all[...end]) && found.reason == .stopToken)
            let unstopped = try await generate(model, GenerationOptions(stopTokens: []))
            #expect(unstopped.tokens == all && unstopped.reason == .cacheFull)
        }
    }

    @Test("what is no token is an error with its place, when it is needed", arguments: [#""2""#, "-1", "[2, 1.5]"])
    func rejections(value: String) async throws {
        try await open(["config.json": #"{"eos_token_id": \#(value)}"#]) { model in
            let error = await #expect(throws: AccelError.self) { try await generate(model) }
            #expect(
                error?.code == .corrupt && error?.description.contains("eos_token_id") == true,
                "\(String(describing: error))")
            _ = try await generate(model, GenerationOptions(maxTokens: 2, stopTokens: [46]))
        }
    }
}
