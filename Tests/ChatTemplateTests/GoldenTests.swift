import AccelByteIO
import AccelChatTemplates
import Testing

/// The goldens of a template.
struct Golden: CustomTestStringConvertible, Sendable {
    let field: JSONField
    let testDescription: String

    static func all() throws -> [Golden] {
        try Fixtures.lines("goldens.jsonl").map { line in
            let field = JSONField(line, file: "goldens.jsonl")
            return Golden(field: field, testDescription: try field["template"].string())
        }
    }
}

@Suite("Chat templates give Jinja2's bytes")
struct GoldenTests {
    /// The goldens of each template: a digest of each conversation's text, or the line of the error, and one text whole.
    @Test("each real template with each conversation", arguments: try Golden.all())
    func realTemplate(golden: Golden) throws {
        let golden = golden.field
        let name = try golden["template"].string()
        let source = try Fixtures.text("templates/\(name)")
        let conversations = try Fixtures.conversations()
        let results = try golden["results"].array()
        #expect(results.count == conversations.count)
        let example = try golden["example"].string()
        for (conversation, result) in zip(conversations, results) {
            let outcome = try Outcome(source, conversation.input)
            switch (outcome, result.value) {
            case (.text(let text), .string(let digest)?):
                let found = SHA256.digest(of: ByteView(Array(text.utf8))).description
                #expect(found.hasPrefix(digest), "\(name): \(conversation.name)")
                if conversation.name == example { #expect(try text == golden["text"].string()) }
            case (.failure(let line), .integer(let expected)?):
                #expect(line == Int(expected), "\(name): \(conversation.name)")
            case (.failure, .null?): break
            default: Issue.record("\(name): \(conversation.name): \(outcome)")
            }
        }
    }

    @Test("each operator, filter, test, method and statement")
    func snippets() throws {
        let field = JSONField(try JSON.read("\(Fixtures.folder)/snippet_variables.json"), file: "variables")
        let variables = try field.members().map { JSON.Member($0.key, $0.field.value ?? .null) }
        let input = ChatInput(messages: [], variables: variables)
        let rows = try Fixtures.lines("snippets.jsonl")
        #expect(rows.count > 6000)
        for row in rows {
            let parts = try JSONField(row, file: "snippets.jsonl").array()
            let source = try parts[0].string()
            let golden: Outcome =
                switch parts[1].value {
                case .string(let text)?: .text(text)
                case .integer(let line)?: .failure(line: Int(line))
                default: .failure(line: nil)
                }
            let outcome = try Outcome(source, input)
            #expect(outcome.agrees(with: golden), "\(source): \(outcome), not \(golden)")
        }
    }
}
