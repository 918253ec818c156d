import Accel
import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@Suite("Example apps")
struct ExampleTests {
    /// The executables lie in the build folder, beside the test bundle.
    private static let folder: URL = {
        #if os(macOS)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
            return bundle.bundleURL.deletingLastPathComponent()
        #else
            return Bundle.main.bundleURL
        #endif
    }()

    /// Runs an example; returns the lines that it prints.
    private func run(_ example: String, _ arguments: [String], input: String = "") throws -> [String] {
        let process = Process()
        process.executableURL = Self.folder.appending(path: example)
        process.arguments = arguments
        let (words, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (words, output)
        try process.run()
        try words.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try words.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return text.split(separator: "\n").map(String.init)
    }

    @Test("search by embeddings ranks texts as the framework's embeddings do")
    func embeddings() throws {
        let cases = try ConformanceCases()
        let golden = try SafetensorsFile(Fixtures.path("bert_sentence_mean/golden.safetensors"))
        func integers(_ name: String) throws -> [Int64] { try #require(golden["in.\(name)"]).integers() }
        let (ids, mask, segments) = (
            try integers("input_ids"), try integers("attention_mask"), try integers("token_type_ids")
        )
        let embeddings = try #require(golden["ref64.sentence_embedding"])
        let (length, width) = (ids.count / embeddings.shape.dimensions[0], embeddings.shape.dimensions[1])
        let path = try cases.package("bert_sentence_mean", ["batch": 1, "sequence": length])
        let texts = stride(from: 0, to: ids.count, by: length).map { start in
            [Int64(0), 1].map { segment in
                (start..<start + length).filter { mask[$0] == 1 && segments[$0] == segment }
                    .map { "\(ids[$0])" }.joined(separator: ",")
            }.joined(separator: "+")
        }
        let vectors = (0..<texts.count).map { Array(embeddings.floats()[$0 * width..<($0 + 1) * width]) }
        func product(_ left: [Float], _ right: [Float]) -> Float { zip(left, right).reduce(0) { $0 + $1.0 * $1.1 } }
        func norm(_ vector: [Float]) -> Float { product(vector, vector).squareRoot() }
        let expected = zip(vectors, texts).dropFirst().map { vector, text in
            (score: product(vectors[0], vector) / (norm(vectors[0]) * norm(vector)), text: text)
        }.sorted { $0.score > $1.score }

        let lines = try run("EmbeddingExample", [path] + texts)
        #expect(lines.prefix { $0.hasPrefix("opening:") }.last == "opening: ready")
        let found = lines.drop { $0.hasPrefix("opening:") }.map { $0.split(separator: " ").map(String.init) }
        #expect(found.map { $0[1] } == expected.map(\.text))
        for (line, expected) in zip(found, expected) {
            let score = try #require(Float(line[0]))
            #expect(abs(score - expected.score) < 1e-5, "\(expected.text)")
        }
        withExtendedLifetime(cases) {}
    }

    @Test("a conversation in tokens streams the tokens of single steps, and reuses what the session holds")
    func streaming() async throws {
        let cases = try ConformanceCases()
        let path = try cases.package(
            "qwen3_small", ["batch": 1, "tokens": 4, "cache": 32], ["batch": 1, "tokens": 1, "cache": 32])
        let model = try await AccelModel(.path(path), configuration: .reproducible)
        let step = try model.function("decoder", shape: ["tokens": 1])
        /// The tokens of the largest logits, one step at a time.
        func answer(to prompt: [Int64], count: Int) async throws -> [Int64] {
            let session = try model.makeSession()
            var (tokens, made) = (prompt, [Int64]())
            for position in 0..<prompt.count + count - 1 {
                let outputs = try await session.prediction(
                    of: step.description.name,
                    from: [
                        "input_ids": AccelTensor([tokens[position]], 1, 1),
                        "position": AccelTensor([Int64(position)]),
                    ])
                guard position >= prompt.count - 1 else { continue }
                let logits = try outputs["logits"].array(of: Float.self)
                made.append(Int64(logits.indices.max { logits[$0] < logits[$1] } ?? 0))
                tokens.append(made[made.count - 1])
            }
            return made
        }
        let first: [Int64] = [5, 17, 3, 29, 11]
        let answered = try await answer(to: first, count: 4)
        let second = first + answered + [9, 30]
        let next = try await answer(to: second, count: 4)
        let lines = try run("StreamingExample", [path, "4"], input: "5,17,3,29,11\n9,30\n")
        func line(_ tokens: [Int64], _ end: String) -> String { tokens.map { "\($0) " }.joined() + end }
        // The last token of an answer has not run yet.
        #expect(
            lines == [
                line(answered, "[number of tokens, 0 of 5 tokens reused]"),
                line(next, "[number of tokens, 8 of 11 tokens reused]"),
            ])
        withExtendedLifetime(cases) {}
    }
}
