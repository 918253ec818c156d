import AccelByteIO
import AccelChatTemplates
import Foundation

/// The files that scripts/chat_templates.py wrote.
enum Fixtures {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/ChatTemplates").path

    /// The time at which the goldens were rendered.
    static let now = ChatTime(year: 2026, month: 7, day: 4, hour: 15, minute: 9, second: 5)

    static func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self)
    }

    static func lines(_ name: String) throws -> [JSON] {
        try text(name).split(separator: "\n").map { try JSON.parse(ByteView(Array($0.utf8)), file: name) }
    }

    /// The names and the inputs of the conversations.
    static func conversations() throws -> [(name: String, input: ChatInput)] {
        try JSONField(try JSON.read("\(folder)/conversations.json"), file: "conversations").members().map {
            name, field in
            (name, try input(field))
        }
    }

    private static func input(_ field: JSONField) throws -> ChatInput {
        func members(_ name: String) throws -> [JSON.Member] {
            try field[name].members().compactMap { member in member.field.value.map { JSON.Member(member.key, $0) } }
        }
        return ChatInput(
            messages: field["messages"].value ?? .null, tools: field["tools"].value,
            documents: field["documents"].value, addGenerationPrompt: try field["add_generation_prompt"].bool(),
            specialTokens: try members("special_tokens"), variables: try members("variables"))
    }
}

/// What a template gave.
enum Outcome: Equatable {
    case text(String)
    /// An error with its line; nil for an error without.
    case failure(line: Int?)

    /// Renders a template.
    init(_ source: String, _ input: ChatInput, limits: ChatTemplateLimits = ChatTemplateLimits()) throws {
        do {
            let template = try ChatTemplate(source, name: "template", limits: limits)
            self = .text(try template.render(input, now: Fixtures.now))
        } catch let error as ChatTemplateError {
            self = .failure(line: error.line)
        }
    }

    /// The outcome agrees with one of the goldens, which have no line where Jinja2 has none.
    func agrees(with golden: Outcome) -> Bool {
        switch (self, golden) {
        case (.text(let text), .text(let other)): text.unicodeScalars.elementsEqual(other.unicodeScalars)
        case (.failure(let line), .failure(let other)): other == nil || line == other
        default: false
        }
    }
}
