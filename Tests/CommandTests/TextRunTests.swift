import Accel
import AccelByteIO
import AccelFrontEnds
import AccelPackages
import AccelTensors
import Foundation
import TestSupport
import Testing

/// Text in, text out: what transformers makes of the same texts with the same models (scripts/fixtures_text.py).
@Suite("Runs on text")
struct TextRunTests {
    private static let packages = SharedFolder { folder in
        for name in ["llama", "sentence", "labels", "rank", "tokens", "mask"] {
            try CommandRunner.succeed(
                [
                    "convert", Fixtures.path("text/\(name)"), "--compress", "float32", "-o", "\(folder)/\(name)",
                    "--no-cache",
                ],
                in: folder)
        }
    }

    private func expected(_ name: String) throws -> JSONField {
        let path = Fixtures.path("text/\(name)/texts.json")
        return JSONField(try JSON.read(path), file: path)
    }

    /// Runs the tool on a package, and returns its document.
    private func run(_ name: String, _ words: [String], status: Int32 = 0) throws -> JSON {
        let package = "\(try Self.packages.path)/\(name)"
        let result = try withTemporaryFolder { folder in
            try CommandRunner.run(["run", package, "--json"] + words, in: folder)
        }
        #expect(result.status == status, "\(result.errors)")
        return try JSON.parse(ByteView(Array(result.output.utf8)), file: "output")
    }

    @Test("greedy text is that of transformers, with and without a penalty")
    func prompts() async throws {
        let model = try await AccelModel(.path("\(try Self.packages.path)/llama"), configuration: .reproducible)
        let session = try model.makeSession()
        let prompts = try expected("llama")["prompts"].array()
        for prompt in prompts {
            for (key, penalty) in [("text", Float(1)), ("penalised", 1.2)] {
                var options = GenerationOptions(maxTokens: 64)
                options.repetitionPenalty = penalty
                let stream = try session.generate(prompt: try prompt["prompt"].string(), options)
                var pieces = ""
                for try await piece in stream { pieces += piece }
                let expected = try prompt[key].string()
                #expect(pieces == expected && stream.text == expected, "\(prompt["prompt"].value ?? .null)")
            }
        }
        let words = ["--raw", "--generate", "64", "--temperature", "0", "--repetition-penalty", "1.2"]
        let document = try run("llama", ["--prompt", try prompts[1]["prompt"].string()] + words)
        #expect(document["text"] == prompts[1]["penalised"].value)
    }

    @Test("answers to conversations are those of transformers: of a file, and of a prompt with its instruction")
    func chats() throws {
        for chat in try expected("llama")["chats"].array() {
            let messages = try chat["messages"].array()
            try withTemporaryFolder { folder in
                try (chat["messages"].value ?? .null).text().write(
                    toFile: "\(folder)/chat.json", atomically: true, encoding: .utf8)
                let options = ["--generate", "64", "--temperature", "0", "--repetition-penalty", "1"]
                let document = try run("llama", ["--messages", "\(folder)/chat.json"] + options)
                #expect(document["text"] == chat["text"].value)
                guard let last = messages.last, try messages.allSatisfy({ try $0["role"].string() != "assistant" })
                else { return }
                var words = ["--prompt", try last["content"].string()]
                if messages.count > 1 { words += ["--system", try messages[0]["content"].string()] }
                #expect(try run("llama", words + options)["text"] == chat["text"].value)
            }
        }
    }

    @Test("one cache holds a conversation over its turns, whose answers are those of the whole conversation")
    func turns() async throws {
        let model = try await AccelModel(.path("\(try Self.packages.path)/llama"), configuration: .reproducible)
        let options = GenerationOptions(maxTokens: 20)
        let chat = try AccelChat(with: model, system: "Answer in one word.", options)
        var messages = [ChatMessage(role: "system", content: "Answer in one word.")]
        var reused: [Int] = []
        for text in ["Where is Paris?", "And Berlin?", "Why?"] {
            let stream = try await chat.send(text)
            for try await _ in stream {}
            messages.append(ChatMessage(role: "user", content: text))
            let alone = try model.generate(answering: messages, options)
            for try await _ in alone {}
            #expect(stream.text == alone.text && !stream.text.isEmpty)
            reused.append(stream.summary?.reusedTokens ?? 0)
            messages.append(ChatMessage(role: "assistant", content: stream.text))
        }
        #expect(reused[0] == 0 && reused[1] > 10 && reused[2] > reused[1])
        #expect(await chat.messages == messages)
    }

    @Test("without options a model generates as generation_config.json says, and the seed decides")
    func defaults() throws {
        func text(_ words: String...) throws -> JSON? {
            try run("llama", ["--prompt", "The sky", "--generate", "16"] + words)["text"]
        }
        let drawn = try text("--seed", "5")
        #expect(try text("--seed", "5") == drawn)
        #expect(try text("--seed", "6") != drawn)
        #expect(
            try text(
                "--seed", "5", "--temperature", "0.7", "--top-k", "20", "--top-p", "0.9", "--repetition-penalty", "1.2")
                == drawn)
        #expect(try text("--seed", "5", "--top-k", "1") == text("--temperature", "0"))
        #expect(try text("--seed", "5", "--min-p", "1") == text("--temperature", "0"))
    }

    @Test("the tokens of a file are continued as those of a prompt, where they are drawn too")
    func tokensOfFiles() async throws {
        let model = try await AccelModel(.path("\(try Self.packages.path)/llama"), configuration: .reproducible)
        let tokens = try model.text().tokens(of: "The sky")
        for (words, sampling, penalty) in [
            (["--temperature", "0", "--repetition-penalty", "1"], GenerationOptions.Sampling.greedy, Float(1)),
            (["--temperature", "0", "--repetition-penalty", "1.3"], .greedy, 1.3),
            (
                ["--temperature", "0.7", "--top-k", "20", "--top-p", "1", "--seed", "5", "--repetition-penalty", "1"],
                .random(temperature: 0.7, topK: 20, seed: 5), 1
            ),
        ] {
            var options = GenerationOptions(maxTokens: 16, sampling: sampling)
            options.repetitionPenalty = penalty
            var expected: [JSON] = []
            for try await token in try model.makeSession().generate(from: tokens, options) {
                expected.append(.integer(token))
            }
            let document = try withTemporaryFolder { folder in
                let tensor = StoredTensor(name: "input_ids", integers: tokens, shape: [1, tokens.count])
                try SafetensorsWriter.write([tensor], to: "\(folder)/tokens.safetensors", as: .part)
                return try run("llama", ["--inputs", "\(folder)/tokens.safetensors", "--generate", "16"] + words)
            }
            #expect(document["generated"] == .array([.array(expected)]), "\(words)")
        }
    }

    @Test("vectors, classes, classes of tokens and words for masks are those of transformers")
    func encoders() throws {
        func close(_ found: JSON?, _ expected: JSONField, _ tolerance: Double = 2e-5) throws {
            switch expected.value {
            case .number?, .integer?:
                let value = try JSONField(found, file: "output").double()
                #expect(abs(value - (try expected.double())) < tolerance, "\(expected.path)")
            case .array?:
                let values = try JSONField(found, file: "output").array()
                let others = try expected.array()
                #expect(values.count == others.count)
                for (value, other) in zip(values, others) { try close(value.value, other, tolerance) }
            case .object?:
                for (key, other) in try expected.members() { try close(found?[key], other, tolerance) }
            default: #expect(found == expected.value)
            }
        }
        for (name, member) in [("sentence", "vector"), ("mask", "masks"), ("tokens", "tokens")] {
            let all = try expected(name)
            let results = try all[member == "vector" ? "vectors" : member].array()
            let rows = try rows(name, of: all)
            #expect(rows.count == results.count)
            for (row, expected) in zip(rows, results) { try close(row[member].value, expected) }
        }
        for name in ["labels", "rank"] {
            let all = try expected(name)
            let rows = try rows(name, of: all)
            #expect(try rows.count == all["labels"].array().count)
            for (row, expected) in zip(rows, try all["labels"].array()) {
                let labels = try row["labels"].array()
                #expect(try labels.count == expected.members().count)
                for label in labels { try close(label["score"].value, expected[try label["label"].string()]) }
            }
        }
    }

    /// What a model makes of the lines of a file.
    private func rows(_ name: String, of expected: JSONField) throws -> [JSONField] {
        try withTemporaryFolder { folder in
            let texts = try expected["texts"].array().map { try $0.string() }
            try texts.joined(separator: "\n").write(toFile: "\(folder)/texts.txt", atomically: true, encoding: .utf8)
            let document = try run(name, ["--text", "\(folder)/texts.txt", "--truncate"])
            return try JSONField(document, file: "output")["texts"].array()
        }
    }

    @Test("the lines that are nearest to a text have the largest cosines, the nearest first")
    func search() async throws {
        let texts = try expected("sentence")["texts"].array().map { try $0.string() }
        let model = try await AccelModel(.path("\(try Self.packages.path)/sentence"), configuration: .reproducible)
        let vectors = try await model.embed(texts, truncates: true)
        func product(_ left: [Float], _ right: [Float]) -> Float { zip(left, right).reduce(0) { $0 + $1.0 * $1.1 } }
        func cosine(_ left: [Float], _ right: [Float]) -> Float {
            product(left, right) / (product(left, left) * product(right, right)).squareRoot()
        }
        let index = try await TextIndex(texts, by: model, truncates: true)
        #expect(index.texts == texts && texts.count > 2)
        for (number, text) in texts.enumerated() {
            let found = try await index.nearest(to: text, count: texts.count)
            let cosines = vectors.map { cosine($0, vectors[number]) }
            #expect(found.count == texts.count && Set(found.map(\.index)).count == texts.count)
            for match in found {
                #expect(abs(match.score - cosines[match.index]) < 1e-5 && match.text == texts[match.index])
            }
            #expect(zip(found, found.dropFirst()).allSatisfy { $0.score >= $1.score })
            #expect(abs(found[0].score - 1) < 1e-5)
        }
        #expect(try await index.nearest(to: texts[0], count: 0).isEmpty)
        var pieces = TextIndex(by: model, truncates: true)
        for (number, text) in texts.enumerated() {
            #expect(pieces.texts.count == number)
            try await pieces.append([text], timeLimit: .seconds(3600))
        }
        let joined = pieces
        #expect(joined.texts == texts)
        #expect(try await joined.nearest(to: texts[1], count: 1) == index.nearest(to: texts[1], count: 1))
        let late = await #expect(throws: AccelError.self) { try await joined.nearest(to: "a", timeLimit: .zero) }
        #expect(late?.code == .timedOut)
        try withTemporaryFolder { folder in
            try texts.joined(separator: "\n").write(toFile: "\(folder)/texts.txt", atomically: true, encoding: .utf8)
            let words = ["--text", texts[1], "--search", "\(folder)/texts.txt", "--nearest", "2", "--truncate"]
            let nearest = try JSONField(try run("sentence", words), file: "output")["texts"].array()[0]["nearest"]
                .array()
            #expect(try nearest.count == 2 && nearest[0]["text"].string() == texts[1])
            #expect(try abs(nearest[0]["score"].double() - 1) < 1e-5)
            let lines = try CommandRunner.run(
                ["run", "\(try Self.packages.path)/sentence"] + words, in: folder
            ).output.split(separator: "\n")
            #expect(lines.count == 2 && lines[0] == "1.0000\t\(texts[1])")
            let progress = try CommandRunner.run(
                ["run", "\(try Self.packages.path)/sentence"] + words + ["--progress", "lines"], in: folder)
            let count = texts.count
            #expect(progress.errors.contains("  reading lines \(count) of \(count): \(count) lines\n"))
            _ = try run("labels", words, status: 3)
            _ = try run("sentence", ["--text", "a", "--search", "\(folder)/nothing.txt"], status: 3)
        }
    }

    @Test("a text that is too long is an error, unless it may be shortened")
    func lengths() throws {
        let text = String(repeating: "apples ", count: 60)
        let error = try run("sentence", ["--text", text], status: 2)
        #expect(error["error"] != nil)
        _ = try run("sentence", ["--text", text, "--truncate"])
        _ = try run("llama", ["--prompt", String(repeating: text, count: 9)], status: 2)
    }

    @Test("a model in place of a package is converted, and found in the cache the next time")
    func models() throws {
        try withTemporaryFolder { folder in
            let words = [
                "run", Fixtures.path("text/llama"), "--prompt", "The sky", "--generate", "8", "--temperature", "0",
            ]
            let first = try CommandRunner.run(words, in: folder)
            #expect(first.status == 0, "\(first.errors)")
            let packages = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/.cache")
                .filter { $0.hasSuffix("/graph.bin") }
            #expect(packages.count == 1)
            let second = try CommandRunner.run(words, in: folder)
            #expect(second.output == first.output)
            #expect(
                try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/.cache")
                    .filter { $0.hasSuffix("/graph.bin") } == packages)
            let other = try CommandRunner.run(words + ["--compress", "int8"], in: folder)
            #expect(other.status == 0 && !other.output.isEmpty)
        }
    }

    @Test("a package without a tokenizer, or for another purpose, says so")
    func rejections() throws {
        try withTemporaryFolder { folder in
            for (name, words) in [
                ("llama_bfloat16", ["--prompt", "a"]), ("text/sentence", ["--prompt", "a"]),
                ("text/llama", ["--text", "a"]),
                ("text/mask", ["--text", "no mask"]), ("text/sentence", ["--chat"]),
            ] {
                let result = try CommandRunner.run(["run", Fixtures.path(name)] + words, in: folder)
                #expect(result.status == 2 || result.status == 3, "\(name): \(result.errors)")
                #expect(result.output.isEmpty)
            }
        }
    }
}
