import AccelByteIO
import AccelFrontEnds
import AccelText
import TestSupport
import Testing

@Suite("The special tokens of speech recognizers")
struct SpeechTokensTests {
    /// Reads the tokens of the fixture's tokenizer with other settings.
    private func tokens(_ generation: String?, _ configuration: String = "{}") throws -> SpeechTokens? {
        let files = ["generation_config.json": generation, "config.json": configuration].compactMapValues(\.self)
        let tokenizer = try Tokenizer(folder: Fixtures.path("speech/whisper"))
        return try SpeechTokens(
            files: NamedFiles(in: "model", names: files.keys.sorted()) { name in
                files[name].map { ByteView(Array($0.utf8)) }
            }, tokenizer)
    }

    @Test("generation_config.json states them; the tasks and the marks are suppressed, too")
    func stated() throws {
        let found = try #require(
            try tokens(
                """
                {"decoder_start_token_id": 50258, "eos_token_id": [50257, 1], "no_timestamps_token_id": 50363,
                 "prev_sot_token_id": 50361, "lang_to_id": {"<|en|>": 50259, "<|haw|>": 50352, "other": 3},
                 "task_to_id": {"transcribe": 50359, "translate": 50358}, "suppress_tokens": [1, 2],
                 "begin_suppress_tokens": [220, 50257], "max_initial_timestamp_index": 7}
                """, #"{"vocab_size": 51865, "suppress_tokens": [9]}"#))
        #expect(found.start == 50258 && found.end == 50257 && found.startOfPrevious == 50361)
        #expect(found.noTimestamps == 50363 && found.noSpeech == 50362 && found.firstTimestamp == 50364)
        #expect(found.languages == ["en": 50259, "haw": 50352])
        #expect(found.tasks == ["transcribe": 50359, "translate": 50358])
        let tokenizer = try Tokenizer(folder: Fixtures.path("speech/whisper"))
        let languageModel = try Int64(#require(tokenizer.tokenID(of: "<|startoflm|>")))
        #expect(found.suppressed == [1, 2, 50258, 50361, 50362, 50359, 50358, languageModel])
        #expect(found.suppressedFirst == [220, 50257] && found.lastInitialTimestamp == 7)
    }

    @Test("without settings the names in the tokenizer do; older models have them in config.json")
    func named() throws {
        let tokenizer = try Tokenizer(folder: Fixtures.path("speech/whisper"))
        func id(_ name: String) throws -> Int64 { try Int64(#require(tokenizer.tokenID(of: name))) }
        let found = try #require(try tokens(nil, #"{"suppress_tokens": [4]}"#))
        #expect(try found.languages == ["en": id("<|en|>"), "de": id("<|de|>"), "fr": id("<|fr|>")])
        #expect(try found.tasks == ["transcribe": id("<|transcribe|>"), "translate": id("<|translate|>")])
        #expect(try found.end == id("<|endoftext|>") && found.noSpeech == id("<|nocaptions|>"))
        #expect(found.suppressed.contains(4) && found.lastInitialTimestamp == 50)
        #expect(try found.suppressedFirst == [id("Ġ"), found.end])
    }

    @Test("without a list, or with -1 in it, the signs of annotations are suppressed that are one token")
    func annotations() throws {
        let path = Fixtures.path("speech/whisper/tokenizer.json")
        let plain = try String(decoding: MappedFile(path).bytes.withBytes { Array($0) }, as: UTF8.self)
        // An opening bracket and its space are one token, two closing ones are two; a note has three tokens.
        let text =
            plain
            .replacing(
                "\"vocab\": {",
                with: """
                    "vocab": {"(": 100, ")": 101, "-": 102, "'": 103, "â": 104, "Ļ": 105, "ª": 106, "Ġ(": 107, "Ġ-": 108,
                    "Ġ'": 109, "--": 110, "[": 111,
                    """, maxReplacements: 1
            )
            .replacing(
                "\"merges\": [",
                with: """
                    "merges": [["Ġ", "("], ["Ġ", "-"], ["Ġ", "'"], ["-", "-"],
                    """, maxReplacements: 1)
        try withTemporaryFolder { folder in
            try AtomicFile.write(text, to: "\(folder)/tokenizer.json", as: .internal)
            let tokenizer = try Tokenizer(folder: folder)
            func suppressed(_ settings: String) throws -> Set<Int64> {
                let files = NamedFiles(in: "model", names: ["config.json"]) { _ in ByteView(Array(settings.utf8)) }
                return try #require(try SpeechTokens(files: files, tokenizer)).suppressed
            }
            let stated = try suppressed(#"{"suppress_tokens": []}"#)
            // "(", ")" and "[", " (" and "--", the beginnings of " -" and " '", and those of notes: the first byte, or a space.
            let found: Set<Int64> = [100, 101, 111, 107, 110, 108, 109, 104, 24]
            #expect(try suppressed("{}") == stated.union(found))
            #expect(try suppressed(#"{"suppress_tokens": [-1, 7]}"#) == stated.union(found).union([7]))
        }
    }

    @Test("a model of English alone has no languages and no tasks, and suppresses the tokens of tasks")
    func english() throws {
        for (generation, configuration) in [
            (#"{"is_multilingual": false}"#, "{}"), ("{}", #"{"vocab_size": 51864}"#),
        ] {
            let found = try #require(try tokens(generation, configuration))
            #expect(!found.isMultilingual && found.languages.isEmpty && found.tasks.isEmpty)
            let tokenizer = try Tokenizer(folder: Fixtures.path("speech/whisper"))
            #expect(found.suppressed.contains(try Int64(#require(tokenizer.tokenID(of: "<|translate|>")))))
        }
    }

    @Test("a tokenizer without times is that of no recognizer, and a field of another type is named")
    func others() throws {
        let plain = try Tokenizer(folder: Fixtures.path("text/llama"))
        let none = NamedFiles(in: "model", names: []) { _ in nil }
        #expect(try SpeechTokens(files: none, plain) == nil)
        for (field, value) in [
            ("no_timestamps_token_id", "\"x\""), ("lang_to_id", "[1]"), ("suppress_tokens", "[-2]"),
            ("is_multilingual", "1"), ("decoder_start_token_id", "1e99"),
        ] {
            #expect("\(field)") { try tokens("{\"\(field)\": \(value)}") } throws: {
                "\($0)".contains(field)
            }
        }
    }
}
