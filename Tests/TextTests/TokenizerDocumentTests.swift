import AccelByteIO
import AccelText
import Testing

/// Documents that are written by hand: the order of members, words that occur twice, escapes, numbers, and errors.
@Suite("Documents of tokenizers")
struct TokenizerDocumentTests {
    private func tokenizer(_ json: String) throws -> Tokenizer {
        try Tokenizer(json: ByteView(Array(json.utf8)), file: "t.json")
    }

    private func error(_ json: String) -> String {
        do {
            _ = try tokenizer(json)
            return ""
        } catch { return "\(error)" }
    }

    @Test("the order of a model's members does not matter")
    func order() throws {
        let members = [
            #""type": "BPE""#, #""continuing_subword_prefix": "@@""#, #""vocab": {"a": 0, "@@b": 1, "ab": 2}"#,
            #""merges": [["a", "@@b"]]"#,
        ]
        for rotation in members.indices {
            for members in [members, members.reversed()] {
                let rotated = members[rotation...] + members[..<rotation]
                let tokenizer = try tokenizer(#"{"model": {\#(rotated.joined(separator: ", "))}, "version": "1.0"}"#)
                #expect(try tokenizer.encode("ab") == [2])
                #expect(try tokenizer.encode("aba") == [2])
            }
        }
        // Without a prefix, as in old files, and without spaces.
        let old = try tokenizer(#"{"model":{"merges":["a b"],"vocab":{"a":0,"b":1,"ab":2}}}"#)
        #expect(try old.encode("abb") == [2, 1])
    }

    @Test("of equal words the last number counts, of equal merges the last rank")
    func duplicates() throws {
        let words = #""vocab": {"a": 0, "b": 1, "c": 2, "a": 7, "ab": 4, "bc": 5}"#
        var tokenizer = try tokenizer(#"{"model": {"type": "BPE", \#(words), "merges": ["a b", "b c"]}}"#)
        #expect(tokenizer.tokenID(of: "a") == 7)
        #expect(try tokenizer.encode("abc") == [4, 2])
        tokenizer = try self.tokenizer(#"{"model": {"type": "BPE", \#(words), "merges": ["a b", "b c", "a b"]}}"#)
        #expect(try tokenizer.encode("abc") == [7, 5])
        #expect(error(#"{"model": {"type": "BPE", "vocab": {}, "vocab": {}}}"#).contains("\"vocab\" occurs twice"))
    }

    @Test("words that differ in their composition only are different words")
    func composition() throws {
        let flags = #""single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true"#
        let tokenizer = try tokenizer(
            #"""
            {"added_tokens": [{"id": 1, "content": "<\u00e9>", \#(flags)}, {"id": 2, "content": "<e\u0301>", \#(flags)}],
             "model": {"type": "WordLevel", "vocab": {"?": 0, "<\u00e9>": 1, "<e\u0301>": 2}, "unk_token": "?"}}
            """#)
        #expect(try tokenizer.encode("<\u{E9}><e\u{301}>") == [1, 2])
        #expect(tokenizer.tokenID(of: "<\u{E9}>") == 1 && tokenizer.tokenID(of: "<e\u{301}>") == 2)
    }

    @Test("escapes in words, and numbers far apart")
    func escapes() throws {
        let tokenizer = try tokenizer(
            #"""
            {"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 3, "\"\\\/\n\u0041\ud83d\ude00 plain": 2000000000,
             "漢字漢字漢字": 5}}}
            """#)
        #expect(tokenizer.tokenID(of: "\"\\/\nA\u{1F600} plain") == 2_000_000_000)
        #expect(tokenizer.token(2_000_000_000) == "\"\\/\nA\u{1F600} plain")
        #expect(tokenizer.token(5) == "漢字漢字漢字")
        #expect(tokenizer.token(4) == nil)
    }

    @Test("a large vocabulary in any order has each word once")
    func large() throws {
        let count = 20_000
        let words = (0..<count).map { "\"prefix\($0 &* 7919 % count)\": \(count - 1 - $0)" }.joined(separator: ",")
        let tokenizer = try tokenizer(#"{"model": {"type": "WordLevel", "unk_token": "x", "vocab": {\#(words)}}}"#)
        #expect(tokenizer.vocabularySize == count)
        for index in 0..<count {
            let word = "prefix\(index &* 7919 % count)"
            #expect(tokenizer.tokenID(of: word) == TokenID(count - 1 - index))
            #expect(tokenizer.token(TokenID(count - 1 - index)) == word)
        }
    }

    @Test("a unigram model finds words with long common starts, and reads scores with many digits")
    func unigram() throws {
        let tokenizer = try tokenizer(
            #"""
            {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["commonstart", -1.5], ["commonstartb", -2.25e0],
             ["commonstarta", -2.0000000000000000000000000001], ["commonstartaa", -2500e-3], ["a", -1], ["common", -0.5],
             ["commonstarta", -1.25], ["b", -9]]}}
            """#)
        #expect(try tokenizer.encode("commonstartb") == [2])
        // The last one of equal words counts.
        #expect(try tokenizer.encode("commonstarta") == [7])
        #expect(try tokenizer.encode("commonstartaab") == [7, 5, 8])
        #expect(try tokenizer.encode("commonb") == [6, 8])
    }

    @Test("errors name their place")
    func errors() {
        func model(_ members: String) -> String { error("{\"model\": {\(members)}}") }
        #expect(
            model(#""type": "BPE", "continuing_subword_prefix": null, "vocab": {"a": 0}, "merges": ["a x"]"#)
                .contains(#"the merge's token "x" is not in the vocabulary"#))
        #expect(model(#""type": "BPE", "vocab": [], "merges": []"#) == "t.json, field model.vocab: expected an object")
        #expect(model(#""type": "Unigram", "vocab": {}"#) == "t.json, field model.vocab: expected an array")
        #expect(model(#""type": "BPE", "vocab": {}"#).contains("field model.merges: expected a value, found nothing"))
        #expect(model(#""type": "BPE", "merges": []"#).contains("field model.vocab: expected a value, found nothing"))
        #expect(model(#""vocab": {"a": 2147483648}"#).contains("a token's number is too large"))
        #expect(model(#""vocab": {"a": -1}"#).contains("expected a token's number"))
        #expect(model(#""vocab": {"a\#u{1}b": 1}"#).contains("a control character in a string has to be escaped"))
        #expect(model(#""vocab": {"a12345678\u12": 1}"#).contains("four hexadecimal digits"))
        #expect(model(#""vocab": [["a", 1e999]]"#).contains("a number is too large"))
        #expect(model(#""vocab": [["a", -]]"#).contains("expected a number"))
        #expect(model(#""vocab": [["a", 1e]]"#).contains("no digit in its exponent"))
        #expect(error(#"{"model": {"vocab": {"a"#).contains("a string has no closing quote"))
        let spaces = String(repeating: " ", count: 21)
        let start = "{\"model\":\(spaces){\"vocab\":\(spaces){\"a\":\(spaces)"
        #expect(error("\(start)x}}}") == "t.json, byte \(start.utf8.count): expected a token's number")
    }
}
