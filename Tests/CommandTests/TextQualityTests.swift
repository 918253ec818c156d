import AccelByteIO
import AccelFrontEnds
import AccelTensors
import Foundation
import TestSupport
import Testing

/// Samples and figures that are made of texts.
@Suite("Texts in place of tensors")
struct TextQualityTests {
    private static let kit = SharedFolder { folder in
        for name in ["llama", "sentence", "labels", "tokens", "mask"] {
            let model = Fixtures.path("text/\(name)")
            try CommandRunner.succeed(
                ["convert", model, "--compress", "float32", "-o", "\(folder)/\(name)", "--no-cache"], in: folder)
            try CommandRunner.succeed(
                ["convert", model, "--compress", "palette:bits=2", "-o", "\(folder)/\(name)-2", "--no-cache"],
                in: folder)
        }
    }
    private static let lines =
        "The sky is blue.\nAnna and Bob live in London, and work there.\nWho knows?\nOù est la gare ?\n"

    private func quality(_ package: String, of model: String, _ text: String, _ words: [String] = []) throws -> JSON {
        try withTemporaryFolder { folder in
            try text.write(toFile: "\(folder)/text.txt", atomically: true, encoding: .utf8)
            let result = try CommandRunner.run(
                [
                    "verify", "\(try Self.kit.path)/\(package)", "--against", Fixtures.path("text/\(model)"), "--only",
                    "container", "--text", "text.txt", "--json",
                ] + words, in: folder)
            #expect([0, 1].contains(result.status), "\(result.errors)")
            return try JSON.parse(ByteView(Array(result.output.utf8)), file: "output")["quality"] ?? .null
        }
    }

    private func value(_ quality: JSON, _ name: String, _ member: String = "value") throws -> Double {
        try JSONField(quality, file: "quality")[name][member].double()
    }

    @Test("perplexity is that of torch by the same protocol, and a package without loss has no divergence")
    func perplexity() throws {
        let path = Fixtures.path("text/llama/texts.json")
        let expected = JSONField(try JSON.read(path), file: path)["perplexity"]
        let words = ["--context", "\(try expected["context"].int())", "--chunks", "1000"]
        let text = try expected["text"].string()
        let same = try quality("llama", of: "llama", text, words)
        let perplexity = try expected["value"].double()
        #expect(abs(try value(same, "perplexity") / perplexity - 1) < 1e-4)
        #expect(abs(try value(same, "perplexity", "original") / perplexity - 1) < 1e-4)
        #expect(try value(same, "klDivergenceMaximum") < 1e-6 && value(same, "equalTopTokens") == 1)
        let lossy = try quality("llama-2", of: "llama", text, words)
        #expect(try value(lossy, "klDivergence") > 0.1 && value(lossy, "equalTopTokens") < 1)
        #expect(try value(lossy, "klDivergence99") <= value(lossy, "klDivergenceMaximum"))
        #expect(
            abs(try value(lossy, "perplexityRatio") * perplexity / value(lossy, "perplexity") - 1) < 1e-4)
    }

    @Test(
        "encoders have figures of their own, which are whole without loss and less with it",
        arguments: [
            ("sentence", "cosine"), ("labels", "equalLabels"), ("tokens", "equalLabels"), ("mask", "equalTopTokens"),
        ])
    func encoders(name: String, figure: String) throws {
        let text = String(repeating: Self.lines, count: 4)
        #expect(abs(try value(quality(name, of: name, text), figure) - 1) < 1e-6)
        let lossy = try quality("\(name)-2", of: name, text)
        #expect(try value(lossy, figure) <= 1)
        if name == "sentence" { #expect(try value(lossy, "cosine") < 0.9999 && value(lossy, "rankCorrelation") < 1) }
    }

    @Test("a budget bounds the figures, and needs a text")
    func budgets() throws {
        try withTemporaryFolder { folder in
            try Self.lines.write(toFile: "\(folder)/text.txt", atomically: true, encoding: .utf8)
            func verify(_ budget: String, _ words: [String] = ["--text", "text.txt", "--context", "8"]) throws -> Int32
            {
                try budget.write(toFile: "\(folder)/budget.json", atomically: true, encoding: .utf8)
                return try CommandRunner.run(
                    [
                        "verify", "\(try Self.kit.path)/llama-2", "--against", Fixtures.path("text/llama"), "--only",
                        "container", "--budget", "budget.json",
                    ] + words, in: folder
                ).status
            }
            #expect(try verify(#"{"quality": {"equalTopTokens": 0}}"#) == 0)
            #expect(try verify(#"{"quality": {"equalTopTokens": 1.1}}"#) == 1)
            #expect(try verify(#"{"quality": {"klDivergence": 1e-9}}"#) == 1)
            #expect(try verify(#"{"quality": {"cosine": 0}}"#) == 2)
            #expect(try verify(#"{"quality": {"equalTopTokens": 0}}"#, []) == 2)
        }
    }

    @Test("samples of a text give the package of tensors with the same tokens", arguments: ["sentence", "llama"])
    func samples(name: String) throws {
        let model = Fixtures.path("text/\(name)")
        let frontEnd = try #require(try TextFrontEnd(files: NamedFiles(folder: model)))
        try withTemporaryFolder { folder in
            try Self.lines.write(toFile: "\(folder)/text.txt", atomically: true, encoding: .utf8)
            var tensors: [StoredTensor]
            func tensor(_ name: String, _ rows: [[Int64]]) -> StoredTensor {
                StoredTensor(
                    name: name, elementType: .int64, shape: [rows.count, rows[0].count],
                    bytes: ByteView(rows.flatMap { $0 }))
            }
            if name == "llama" {
                let all = try frontEnd.tokens(of: Self.lines).dropFirst()
                let start = try frontEnd.tokens(of: "")
                #expect(start.count == 1)
                tensors = [
                    tensor("input_ids", (0..<3).map { start + all.dropFirst($0 * 7).prefix(7) })
                ]
            } else {
                let rows = try Self.lines.split(separator: "\n").prefix(3).map { try frontEnd.tokens(of: String($0)) }
                let length = rows.map(\.count).max() ?? 0
                let padding = try #require(frontEnd.tokenID("[PAD]"))
                tensors = [
                    tensor("input_ids", rows.map { $0 + Array(repeating: padding, count: length - $0.count) }),
                    tensor(
                        "attention_mask",
                        rows.map {
                            Array(repeating: 1, count: $0.count) + Array(repeating: 0, count: length - $0.count)
                        }),
                ]
            }
            try SafetensorsWriter.write(tensors, to: "\(folder)/samples.safetensors", as: .part)
            let words = ["convert", model, "--compress", "int8:method=gptq", "--no-cache", "--json", "-o"]
            let length = name == "llama" ? ["--sample-length", "8"] : []
            let ofText = try CommandRunner.run(
                words + ["a", "--calibrate", "text.txt", "--samples", "3"] + length, in: folder)
            let ofTensors = try CommandRunner.run(words + ["b", "--calibrate", "samples.safetensors"], in: folder)
            #expect(ofText.status == 0 && ofTensors.status == 0, "\(ofText.errors)\(ofTensors.errors)")
            #expect(ofText.errors.contains("text.txt: samples are its first") && !ofTensors.errors.contains("first"))
            let content = try ["a", "b"].map { try Data(contentsOf: URL(filePath: "\(folder)/\($0)/weights-0000.bin")) }
            #expect(content[0] == content[1])
        }
    }

    @Test("a GGUF file keeps its tokenizer and template on the way through a package")
    func gguf() throws {
        try withTemporaryFolder { folder in
            let model = Fixtures.path("text/llama")
            for words in [
                // The second time it replaces its own file.
                ["export", model, "--format", "gguf", "--compress", "float16", "-o", "one.gguf", "--no-cache"],
                ["export", model, "--format", "gguf", "--compress", "float32", "-o", "one.gguf"],
                ["convert", "one.gguf", "-o", "package", "--no-cache"],
                ["export", "package", "--format", "gguf", "-o", "two.gguf", "--no-cache"],
            ] {
                try CommandRunner.succeed(words, in: folder)
            }
            #expect(
                try FileManager.default.attributesOfItem(atPath: "\(folder)/one.gguf")[.type] as? FileAttributeType
                    == .typeRegular)
            try "mine".write(toFile: "\(folder)/mine.gguf", atomically: true, encoding: .utf8)
            let rejected = try CommandRunner.run(["export", model, "--format", "gguf", "-o", "mine.gguf"], in: folder)
            #expect(rejected.status == 2)
            #expect(try String(contentsOfFile: "\(folder)/mine.gguf", encoding: .utf8) == "mine")
            let converted = try CommandRunner.run(["convert", "one.gguf", "-o", "again", "--no-cache"], in: folder)
            #expect(converted.status == 0 && !converted.errors.contains("tokenizer"), "\(converted.errors)")
            let question = ["--prompt", "Why?", "--generate", "24", "--temperature", "0"]
            let texts = try [model, "one.gguf", "package", "two.gguf"].map { name in
                try CommandRunner.run(["run", name, "--repetition-penalty", "1"] + question, in: folder)
            }
            for text in texts { #expect(text.status == 0 && text.output == texts[0].output, "\(text.errors)") }
        }
    }
}
