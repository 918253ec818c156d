import AccelByteIO
import AccelText
import Foundation
import Testing
import TextGoldens

/// Tokenizers of every kind, with lines and what a peer gives for them (scripts/tokenizer_goldens.py).
private enum Samples {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/tokenizers").path
    static let all = (try? GoldenSample.all(in: folder)) ?? []
    static let names = all.map(\.name)

    static func tokenizer(_ name: String) throws -> Tokenizer {
        try GoldenSample(folder: folder, name: name).tokenizer()
    }
    static func lines() throws -> [[UInt8]] { try GoldenReader.lines("\(folder)/lines.bin") }
}

@Suite("Tokenizers")
struct TokenizerTests {
    @Test("ids, offsets and texts are those of the peer", arguments: Samples.all)
    func goldens(sample: GoldenSample) throws {
        let lines = try Samples.lines()
        #expect(lines.count >= 10)
        for (line, difference) in try sample.differences(lines) {
            Issue.record("\(String(decoding: lines[line], as: UTF8.self).debugDescription): \(difference)")
        }
    }

    @Test("all kinds are there")
    func kinds() {
        #expect(Samples.names.count >= 76)
        for kind in ["gguf_", "older_", "sp_"] { #expect(Samples.names.contains { $0.hasPrefix(kind) }) }
    }

    @Test("a pair has the tokens and types of its template")
    func pair() throws {
        let bert = try Samples.tokenizer("bert")
        let pair = try bert.encodePair("the word", "time")
        let (first, second) = (
            try bert.encode("the word", addSpecialTokens: false), try bert.encode("time", addSpecialTokens: false)
        )
        #expect(pair.ids == [2] + first + [3] + second + [3])
        #expect(pair.typeIDs == [0] + first.map { _ in 0 } + [0] + second.map { _ in 1 } + [1])
        #expect(pair.offsets.first == 0..<0)
    }

    @Test("special tokens, numbers and texts of tokens")
    func vocabulary() throws {
        let roberta = try Samples.tokenizer("roberta")
        #expect(roberta.specialTokens.map(\.content) == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        #expect(roberta.tokenID(of: "</s>") == 2)
        #expect(roberta.token(2) == "</s>")
        #expect(roberta.tokenID(of: "no such token") == nil)
        #expect(roberta.token(-1) == nil && roberta.token(.max) == nil)
        #expect(roberta.vocabularySize == 421)
    }

    @Test("bytes that are no UTF-8 are replaced as Python does")
    func brokenBytes() throws {
        let tokenizer = try Samples.tokenizer("gpt2")
        let bytes: [UInt8] = [0x61, 0xF0, 0x9F, 0x98, 0x62, 0xC0, 0xAF, 0xED, 0xA0, 0x80, 0xE2, 0x82]
        let ids = try bytes.withUnsafeBufferPointer { try tokenizer.encode(utf8: $0) }
        #expect(tokenizer.decode(ids) == "a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}")
    }

    @Test("a stream gives no half of a character")
    func streams() throws {
        let tokenizer = try Samples.tokenizer("gpt2")
        let ids = try tokenizer.encode("漢字 😀")
        var stream = tokenizer.streamDecoder()
        let parts = ids.map { stream.append($0) }
        #expect(parts.allSatisfy { !$0.contains("\u{FFFD}") })
        #expect(parts.joined() + stream.finish() == "漢字 😀")
        #expect(ids.count > 4)
    }

    @Test(
        "long words and runs take time that grows with their length",
        arguments: ["gpt2", "llama3", "aya", "bert", "unigram", "llama", "gpt4o", "precompiled"].filter(
            Samples.names.contains))
    func long(name: String) throws {
        let tokenizer = try Samples.tokenizer(name)
        for unit in ["a", " ", "1", "\n", "é", "漢", "a1", " \n", "'", "https://a"] {
            // Four times the text takes 16 times as long where time grows with the square. Other tests run beside: only the time
            // of the processor counts.
            func seconds(_ count: Int) throws -> Double {
                let text = String(repeating: unit, count: count)
                let start = Self.processorSeconds
                _ = try tokenizer.encode(text)
                return Self.processorSeconds - start
            }
            let (short, long) = (try seconds(25_000), try seconds(100_000))
            #expect(long < short * 8 + 2, "\(unit.debugDescription) took \(short) and \(long) seconds")
        }
    }

    /// The time that this thread has had.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("several threads may use a tokenizer")
    func threads() async throws {
        let tokenizer = try Samples.tokenizer("llama3")
        let texts = try Samples.lines().map { String(decoding: $0, as: UTF8.self) }
        let expected = try texts.map { try tokenizer.encode($0) }
        try await withThrowingTaskGroup(of: [[TokenID]].self) { group in
            for _ in 0..<4 { group.addTask { try texts.map { try tokenizer.encode($0) } } }
            for try await result in group { #expect(result == expected) }
        }
    }
}

@Suite("Tokenizers of other files")
struct OtherTokenizerTests {
    @Test("a pattern that is not supported is an error with its position")
    func patterns() {
        func error(_ expression: String) -> String {
            let json = """
                {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "pre_tokenizer": {"type": "Split",
                 "pattern": {"Regex": "\(expression)"}, "behavior": "Isolated", "invert": false}}
                """
            do {
                _ = try Tokenizer(json: ByteView(Array(json.utf8)), file: "t.json")
                return ""
            } catch { return "\(error)" }
        }
        #expect(
            error(#"(a)\\1"#)
                == #"t.json, field pre_tokenizer.pattern.Regex: the pattern cannot be used, character 4: the escape \1 is not supported"#
        )
        #expect(error("a(b").contains("character 2: a group has no ')'"))
        #expect(error(#"\\p{Nonsense}"#).contains(#"character 1: the property \p{Nonsense} is not supported"#))
        #expect(error("[z-a]").contains("character 3: a range in a class is empty"))
        #expect(error("(?<=a+)b").contains("a lookbehind of varying length is not supported"))
        #expect(error("x{2,1}").contains("repetitions from 2 to 1"))
    }

    @Test("GGUF metadata make a tokenizer")
    func gguf() throws {
        var vocabulary = GGUFVocabulary(
            model: "llama", tokens: ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁ab"], file: "x.gguf")
        vocabulary.scores = [0, 0, 0, -4, -5, -6, -1, -2]
        vocabulary.types = [2, 3, 3, 1, 1, 1, 1, 1]
        vocabulary.startToken = 1
        vocabulary.unknownToken = 0
        let tokenizer = try Tokenizer(gguf: vocabulary)
        #expect(try tokenizer.encode("ab aab") == [1, 7, 3, 4, 6])
        #expect(tokenizer.decode([1, 7, 3, 4, 6]) == "ab aab")
        vocabulary.types = [1]
        #expect(throws: FormatError.self) { try Tokenizer(gguf: vocabulary) }
        vocabulary = GGUFVocabulary(model: "gpt2", tokens: ["a"], file: "x.gguf")
        vocabulary.pre = "gpt2"
        #expect {
            try Tokenizer(gguf: vocabulary)
        } throws: { "\($0)".contains("tokenizer.ggml.pre: the rule \"gpt2\" is not known; did you mean \"gpt-2\"?") }
    }

    @Test("a folder without tokenizer is an error")
    func missing() {
        #expect(throws: RequestError.self) { try Tokenizer(folder: "/nonexistent") }
    }
}
