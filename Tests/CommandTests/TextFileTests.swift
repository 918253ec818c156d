import AccelByteIO
import AccelFrontEnds
import AccelText
import Foundation
import TestSupport
import Testing

@Suite("Texts of files")
struct TextFileTests {
    private func texts(_ file: TextFile) -> [String] {
        file.lines.map { if case .plain(let text) = $0.entry { text } else { "conversation" } }
    }

    @Test("lines end with LF or CRLF, and blank ones only count; a mark at the beginning is no text")
    func lines() throws {
        let file = try TextFile("\u{FEFF}one\r\ntwo\n\nthree\u{2028}still\u{0B}three\n", path: "a.txt")
        #expect(texts(file) == ["one", "two", "three\u{2028}still\u{0B}three"])
        #expect(file.lines.map(\.number) == [1, 2, 4])
        #expect(throws: RequestError.self) { try TextFile(" \n", path: "a.txt") }
    }

    @Test("JSON Lines of other systems, with blank lines, are read; a wrong line is named")
    func jsonLines() throws {
        let text =
            "\u{FEFF}{\"text\": \"a\\nb\"}\r\n   \r\n{\"messages\": [{\"role\": \"user\", \"content\": \"c\"}]}\r\n"
        let file = try TextFile(text, path: "a.jsonl")
        #expect(texts(file) == ["a\nb", "conversation"] && file.lines.map(\.number) == [1, 3])
        let error = #expect(throws: FormatError.self) { try TextFile("{\"text\": 1}\n", path: "a.jsonl") }
        #expect("\(error as Any)".contains("line 1"))
    }

    @Test("a conversation keeps all members of its messages, and what the template reads besides")
    func conversation() throws {
        let text = """
            {"messages": [{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}], "name": "n"},
             {"role": "user", "content": [{"type": "text", "text": "t"}]}],
             "tools": null, "documents": [1], "chat_template_kwargs": {"enable_thinking": false}}
            """
        let field = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "c"), file: "c")
        let conversation = try Conversation(parsing: field)
        #expect(conversation.messages[0].members.map(\.key) == ["role", "content", "tool_calls", "name"])
        #expect(conversation.messages[0].content.isEmpty && conversation.messages[1].role == "user")
        #expect(conversation.tools == nil)
        #expect(conversation.variables.map(\.key) == ["documents", "enable_thinking"])
    }

    @Test("pairs that are too long lose the tokens that tokenizers takes from them")
    func pairs() throws {
        let folder = Fixtures.path("text/rank")
        let frontEnd = try #require(try TextFrontEnd(files: NamedFiles(folder: folder)))
        let cases = try JSONField(try JSON.read("\(folder)/pairs.json"), file: "pairs.json").array()
        #expect(cases.count == 24)
        for pair in cases {
            let second = pair["second"].value == .null ? nil : try pair["second"].string()
            let made = try frontEnd.encoding(
                of: try pair["first"].string(), with: second, limit: try pair["limit"].int()
            ).encoding
            #expect(made.ids.map(Int.init) == (try pair["ids"].array().map { try $0.int() }), "\(pair.path)")
            #expect(made.typeIDs.map(Int.init) == (try pair["types"].array().map { try $0.int() }), "\(pair.path)")
        }
    }
}
