import AccelByteIO
import AccelChatTemplates
import Foundation
import Testing

@Suite("Inputs of chat templates, and the files that hold templates")
struct InputTests {
    private func render(_ source: String, _ input: ChatInput, now: ChatTime = Fixtures.now) throws -> String {
        try ChatTemplate(source, name: "t").render(input, now: now)
    }

    @Test("values of JSON keep their types and the order of keys")
    func values() throws {
        let input = ChatInput(
            messages: [], specialTokens: [.init("bos_token", "<s>")],
            variables: [
                .init("v", ["b": 1, "a": 1.0, "c": [nil, true, "x"]]), .init("add_generation_prompt", "replaced"),
            ])
        #expect(try render("{{ v }}", input) == "{'b': 1, 'a': 1.0, 'c': [None, True, 'x']}")
        #expect(
            try render("{{ bos_token }}{{ tools }}{{ documents }}{{ add_generation_prompt }}", input)
                == "<s>NoneNonereplaced")
    }

    @Test("reasoning has each name that templates read")
    func reasoning() throws {
        let input = ChatInput(messages: [["role": "assistant", "reasoning": "R"], ["role": "user", "thinking": nil]])
        let text = try render("{{ messages }}", input)
        #expect(
            text == "[{'thinking': 'R', 'role': 'assistant', 'reasoning': 'R', 'reasoning_content': 'R'}, "
                + "{'role': 'user', 'thinking': None}]")
    }

    @Test(
        "times",
        arguments: [
            (Int64(0), "1970-01-01 Thursday 001 12 AM"), (951_782_400, "2000-02-29 Tuesday 060 12 AM"),
            (-1, "1969-12-31 Wednesday 365 11 PM"), (4_102_444_799, "2099-12-31 Thursday 365 11 PM"),
            (1_709_210_096, "2024-02-29 Thursday 060 12 PM"),
        ])
    func times(seconds: Int64, expected: String) throws {
        let source = "{{ strftime_now('%Y-%m-%d %A %j %I %p') }}"
        #expect(try render(source, ChatInput(messages: []), now: ChatTime(secondsSince1970: seconds)) == expected)
    }

    @Test("extreme times do not trap", arguments: [Int64.min, Int64.max])
    func extremeTimes(seconds: Int64) throws {
        _ = try render(
            "{{ strftime_now('%c %U %y') }}", ChatInput(messages: []), now: ChatTime(secondsSince1970: seconds))
        _ = try render(
            "{{ strftime_now('%c') }}", ChatInput(messages: []), now: ChatTime(year: .max, month: .min, day: .max))
    }

    @Test("a template renders on several threads")
    func threads() async throws {
        let template = try ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", name: "t")
        let input = ChatInput(messages: [["content": "a"], ["content": "b"]])
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try template.render(input, now: Fixtures.now) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "ab", count: 20))
    }

    private func folder(_ files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chat-templates-\(UUID())")
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return folder.path
    }

    @Test("the templates of a folder: files of their own replace those of configurations")
    func folders() throws {
        let path = try folder([
            "tokenizer_config.json":
                #"{"chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]}"#,
            "chat_template.jinja": "J", "chat_templates/rag.jinja": "R", "chat_templates/readme.txt": "no",
        ])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try ChatTemplateFiles(folder: path)
        #expect(files.sources.map { [$0.name, $0.text] } == [["default", "J"], ["rag", "R"], ["tool_use", "T"]])
        #expect(files.source(hasTools: true)?.text == "T")
        #expect(files.source(hasTools: false)?.origin == "\(path)/chat_template.jinja")
        #expect(files["other"] == nil)
        #expect(try files["rag"]?.template().render(ChatInput(messages: []), now: Fixtures.now) == "R")
    }

    @Test("a configuration with one template, one with none, and a wrong one")
    func configurations() throws {
        let one = try folder([
            "tokenizer_config.json": #"{"chat_template": "X"}"#, "chat_template.json": #"{"chat_template": "Y"}"#,
        ])
        let none = try folder(["tokenizer_config.json": "{}"])
        let wrong = try folder(["tokenizer_config.json": #"{"chat_template": [{"name": 1}]}"#])
        defer { for path in [one, none, wrong] { try? FileManager.default.removeItem(atPath: path) } }
        #expect(try ChatTemplateFiles(folder: one).sources.map(\.text) == ["Y"])
        #expect(try ChatTemplateFiles(folder: none).sources.isEmpty)
        let error = #expect(throws: FormatError.self) { _ = try ChatTemplateFiles(folder: wrong) }
        #expect(error?.location == .field("chat_template[0].template"))
    }

    @Test("the templates of a GGUF")
    func gguf() {
        let files = ChatTemplateFiles(gguf: [
            ("tokenizer.chat_template.tool_use", "T"), ("tokenizer.chat_template", "D"),
            ("tokenizer.chat_templates", "no"),
            ("tokenizer.chat_template.", "no"), ("general.name", "no"),
        ])
        #expect(files.sources.map { [$0.name, $0.text] } == [["default", "D"], ["tool_use", "T"]])
    }
}
