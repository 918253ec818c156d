import AccelByteIO
import AccelFrontEnds
import Testing

@testable import Accel

@Suite("Segments of the characters of frames")
struct CTCSegmentsTests {
    /// The blank is 0, the space 1, and the letters follow.
    private func vocabulary(_ settings: String = "{}", _ words: String? = nil) throws -> CTCVocabulary? {
        let words = words ?? #"{"<pad>": 0, "|": 1, "A": 2, "B": 3, "<s>": 4}"#
        return try CTCVocabulary(
            files: NamedFiles(in: "model", names: ["vocab.json", "tokenizer_config.json"]) { name in
                ByteView(Array((name == "vocab.json" ? words : settings).utf8))
            })
    }

    /// Frames by their characters: `_` is the blank, `|` the space, and `s` a special token.
    private func segments(_ frames: String, pause: Int = 3) throws -> [CTCSegments.Segment] {
        var segments = CTCSegments(try #require(try vocabulary()), pause: pause)
        var found: [CTCSegments.Segment] = []
        for character in frames {
            let token = ["_": 0, "|": 1, "A": 2, "B": 3, "s": 4][character] ?? 0
            if let segment = segments.append(.init(token: token, logProbability: -1)) { found.append(segment) }
        }
        if let last = segments.finish() { found.append(last) }
        return found
    }

    @Test("equal neighbours are one character, a blank parts them, and spaces part words")
    func words() throws {
        let found = try segments("__AAB_B|_A|s|_")
        #expect(found.count == 1)
        let segment = try #require(found.first)
        #expect(segment.words.map(\.text) == ["ABB", "A"])
        #expect(segment.words.map(\.frames) == [2..<7, 9..<10] && segment.frames == 2..<10)
        #expect(segment.tokens == [2, 3, 3, 1, 2] && segment.logProbability == -1)
        #expect(segment.words.allSatisfy { $0.logProbability == -1 })
    }

    @Test("a pause ends a segment, whatever silent tokens it has")
    func pauses() throws {
        let found = try segments("A|_AB____|__B")
        #expect(found.map { $0.words.map(\.text) } == [["A", "AB"], ["B"]])
        #expect(found.map(\.frames) == [0..<5, 12..<13])
        #expect(try segments("____||ss__").isEmpty && segments("").isEmpty)
    }

    @Test("windows overlap by a sixth at both sides, and their frames follow each other")
    func windows() {
        let windows = CTCWindows(of: 44_000, length: 16_000, hop: 320).windows
        #expect(windows.map(\.samples) == [0..<16_000, 10_880..<26_880, 21_760..<37_760, 32_640..<44_000])
        #expect(windows.map(\.frames) == [0..<42, 8..<42, 8..<42, 8..<35])
        // The frames of the sound, one after the other.
        let frames = windows.flatMap { window in window.frames.map { window.samples.lowerBound / 320 + $0 } }
        #expect(frames == Array(0..<137))
        #expect(CTCWindows(of: 0, length: 16_000, hop: 320).windows.isEmpty)
        #expect(CTCWindows(of: 16_000, length: 16_000, hop: 320).windows.map(\.frames) == [0..<50])
        #expect(CTCWindows(of: 100, length: 16_000, hop: 320).windows.isEmpty)
    }

    @Test("names of tokens come from the settings, and other vocabularies are none or an error")
    func vocabularies() throws {
        let plain = try #require(try vocabulary())
        #expect((plain.blank, plain.delimiter, plain.silent) == (0, 1, [4]) && plain.text(of: 2) == "A")
        #expect(plain.text(of: 0).isEmpty && plain.text(of: 1).isEmpty && plain.text(of: 4).isEmpty)
        let other = try #require(
            try vocabulary(
                #"{"pad_token": {"content": "B"}, "word_delimiter_token": null, "do_lower_case": true}"#))
        #expect((other.blank, other.delimiter) == (3, nil) && other.text(of: 2) == "a" && other.text(of: 1) == "|")
        #expect(try vocabulary("{}", #"{"a": 0}"#) == nil)
        #expect(throws: FormatError.self) { try vocabulary("{}", #"{"eng": {"<pad>": 0}}"#) }
        #expect(throws: FormatError.self) { try vocabulary("{}", #"{"<pad>": -1}"#) }
    }

    // MARK: - Pieces of words

    /// A tokenizer of the pieces `▁`, `▁a`, `b`, `c` and `.`, and the blank, numbers 1 to 6; 0 is unknown.
    private func pieces(_ configuration: String = #"{"pad_token_id": 6}"#) throws -> CTCVocabulary? {
        let words = ["<unk>", "\u{2581}", "\u{2581}a", "b", "c", ".", "<pad>"].enumerated()
            .map { #""\#($1)": \#($0)"# }.joined(separator: ", ")
        let special = [(0, "<unk>"), (6, "<pad>")].map { id, content in
            #"{"id": \#(id), "content": "\#(content)", "single_word": false, "lstrip": false, "rstrip": false, "#
                + #""normalized": false, "special": true}"#
        }
        let model = #"{"type": "BPE", "unk_token": "<unk>", "vocab": {\#(words)}, "merges": []}"#
        let added = special.joined(separator: ", ")
        let document = #"{"version": "1.0", "added_tokens": [\#(added)], "model": \#(model)}"#
        return try CTCVocabulary(
            files: NamedFiles(in: "model", names: ["tokenizer.json", "config.json"]) { name in
                ByteView(Array((name == "tokenizer.json" ? document : configuration).utf8))
            })
    }

    /// Words, with a space before those that are not continued.
    private func text(_ segments: [CTCSegments.Segment]) -> [String] {
        segments.map { $0.words.map { ($0.isContinued ? "" : " ") + $0.text }.joined() }
    }

    @Test("pieces with the sign begin a word, also behind a sign alone, and others go on, also after a pause")
    func piecesOfWords() throws {
        let vocabulary = try #require(try pieces())
        #expect(vocabulary.wordMark == "\u{2581}" && vocabulary.blank == 6 && vocabulary.silent == [0, 6])
        #expect(vocabulary.text(of: 2) == "a" && vocabulary.text(of: 1).isEmpty && vocabulary.text(of: 0).isEmpty)
        #expect(vocabulary.beginsWord(1) && vocabulary.beginsWord(2) && !vocabulary.beginsWord(3))
        func found(_ tokens: [Int]) -> [String] {
            var segments = CTCSegments(vocabulary, pause: 2)
            var found = tokens.compactMap { segments.append(.init(token: $0, logProbability: -1)) }
            if let last = segments.finish() { found.append(last) }
            return text(found)
        }
        #expect(found([2, 2, 3, 6, 3, 1, 4, 2, 5]) == [" abb c a."])
        #expect(found([3, 2, 6, 6, 6, 5, 6, 6, 1, 4]) == ["b a", ".", " c"])
        #expect(found([1, 6, 3]) == [" b"] && found([6, 1, 6]).isEmpty)
    }

    @Test("a transducer's tokens are words too, any number in a frame and none of them merged")
    func transducer() throws {
        let vocabulary = try #require(try pieces(#"{"model_type": "parakeet_tdt", "blank_token_id": 6}"#))
        func found(_ frames: [[Int]]) -> [CTCSegments.Segment] {
            var segments = TransducerSegments(vocabulary, pause: 2)
            var found = frames.compactMap { tokens in
                segments.append(tokens.map { .init(token: $0, length: 1, logProbability: -1) })
            }
            if let last = segments.finish() { found.append(last) }
            return found
        }
        let words = found([[], [2, 3], [3], [], [1], [4, 4], [], [], [], [5], [2]])
        #expect(text(words) == [" abb cc", ". a"])
        #expect(words.map(\.frames) == [1..<6, 9..<11] && words[0].tokens == [2, 3, 3, 1, 4, 4])
        #expect(words[0].words.map(\.frames) == [1..<3, 5..<6] && words[0].logProbability == -1)
        #expect(found([[], [0], [1]]).isEmpty)
        #expect(try pieces(#"{"model_type": "parakeet_tdt"}"#)?.blank == 8192 && pieces("{}")?.blank == 1024)
    }
}
