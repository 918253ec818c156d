import AccelByteIO
import AccelChatTemplates
import Testing

@Suite("Errors of chat templates name template, line and problem")
struct ErrorTests {
    private func error(_ source: String) throws -> ChatTemplateError {
        try #require(
            #expect(throws: ChatTemplateError.self) {
                let template = try ChatTemplate(source, name: "chat_template.jinja")
                _ = try template.render(ChatInput(messages: [["role": "user", "content": "a"]]), now: Fixtures.now)
            })
    }

    @Test("a syntax error")
    func syntax() throws {
        let error = try error("a\n{% if messages %}\n{% endfor %}")
        #expect(
            error
                == ChatTemplateError(
                    template: "chat_template.jinja", line: 3, kind: .syntax,
                    reason:
                        "Encountered unknown tag 'endfor'. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. "
                        + "The innermost block that needs to be closed is 'if'."))
        #expect(error.description.hasPrefix("chat_template.jinja, line 3: Encountered"))
        #expect(error.exitStatus == .corrupt)
    }

    @Test("a rejected conversation is an error of the request")
    func raised() throws {
        let error = try error("{% for m in messages %}\n{{ raise_exception('no ' ~ m.role) }}{% endfor %}")
        #expect(error == ChatTemplateError(template: "chat_template.jinja", line: 2, kind: .raised, reason: "no user"))
        #expect(error.exitStatus == .usage)
    }

    @Test("the line within a macro, and the words of Jinja2")
    func evaluation() throws {
        let error = try error("{% macro m(x) %}\n{{ x.a.b }}\n{% endmacro %}\n\n{{ m({}) }}")
        #expect(error.line == 2)
        #expect(error.kind == .evaluation)
        #expect(error.reason == "'dict object' has no attribute 'a'")
    }

    @Test("what chat templates may not use", arguments: ["include", "import", "extends", "from", "autoescape"])
    func unsupported(tag: String) throws {
        let error = try error("\n{% \(tag) 'x' %}")
        #expect(error.kind == .syntax)
        #expect(error.line == 2)
        #expect(error.reason.contains("'\(tag)' is not supported"))
    }

    @Test("lists and dicts do not change", arguments: ["messages.append(1)", "messages[0].update({})", "[].pop()"])
    func immutable(call: String) throws {
        let error = try error("{{ \(call) }}")
        #expect(error.reason.contains("is unsafe"))
    }
}
