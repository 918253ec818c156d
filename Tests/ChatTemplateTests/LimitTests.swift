import AccelByteIO
import AccelChatTemplates
import Testing

/// A template that would not end well.
struct Hostile: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let source: String
    init(_ name: String, _ source: String) { (testDescription, self.source) = (name, source) }
}

@Suite("Hostile chat templates end with an error")
struct LimitTests {
    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// Templates that nest too deeply, run too long, or print too much.
    static let hostile: [Hostile] = [
        .init("parentheses", "{{ " + repeated("(", 100_000) + "1" + repeated(")", 100_000) + " }}"),
        .init("open brackets", "{{ " + repeated("[", 100_000)),
        .init("dicts", "{{ " + repeated("{1:", 100_000) + "1" + repeated("}", 100_000) + " }}"),
        .init("signs", "{{ " + repeated("-", 100_000) + "1 }}"),
        .init("negations", "{{ " + repeated("not ", 100_000) + "1 }}"),
        .init("sums", "{{ 1" + repeated("+1", 100_000) + " }}"),
        .init("alternatives", "{{ 1" + repeated(" if 1 else 1", 100_000) + " }}"),
        .init("conditions", "{{ 1" + repeated(" if 1", 100_000) + " }}"),
        .init("filters", "{{ 1" + repeated("|abs", 100_000) + " }}"),
        .init("attributes", "{{ a" + repeated(".b", 100_000) + " }}"),
        .init("calls", "{{ a" + repeated("(1)", 100_000) + " }}"),
        .init("nested calls", "{{ " + repeated("f(", 100_000)),
        .init("branches", repeated("{% if 1 %}", 100_000)),
        .init("loops", repeated("{% for a in b %}", 100_000)),
        .init("targets", "{% for " + repeated("(", 100_000)),
        .init("recursive macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
        .init(
            "recursive pair", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"),
        .init("recursive caller", "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}"),
        .init("recursive loop", "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
        .init(
            "branching macro",
            "{% macro m() %}{{ m() if 0 }}{% for i in range(9999) %}{{ n() }}{% endfor %}{% endmacro %}"
                + "{% macro n() %}{% for i in range(9999) %}x{% endfor %}{% endmacro %}{{ m() }}"),
        .init("nested ranges", "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
        .init("range", "{{ range(10 ** 9) }}"),
        .init("repeated text", "{{ 'abc' * 10 ** 12 }}"),
        .init("repeated list", "{{ [1] * 10 ** 12 }}"),
        .init(
            "doubled text",
            "{% set ns = namespace(x='abc') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"),
        .init(
            "doubled list",
            "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"),
        .init(
            "shared list",
            "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
        ),
        .init(
            "deep list",
            "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"),
        .init(
            "deep generators",
            "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = ns.x|map('abs') %}{% endfor %}{{ ns.x|list }}"
        ),
        .init("padding", "{{ 'a'|center(10 ** 12) }}"), .init("width", "{{ '{:999999999999}'.format(1) }}"),
        .init("percent width", "{{ '%999999999999d' % 1 }}"), .init("precision", "{{ '%.999999999d' % 1 }}"),
        .init("indentation", "{{ [[[1]]]|tojson(indent=10 ** 10) }}"),
        .init("indent", "{{ 'a\\nb'|indent(10 ** 12) }}"),
        .init("replaced", "{{ ('a' * 99999)|replace('a', 'b' * 99999) }}"),
        .init("joined", "{{ (['a'] * 99999)|join('b' * 99999) }}"),
        .init("batch", "{{ [1]|batch(10 ** 12, 0)|list }}"), .init("slice", "{{ [1]|slice(10 ** 12)|list }}"),
        .init("zeros", "{{ '1'.zfill(10 ** 12) }}"), .init("tabs", "{{ '\\t'.expandtabs(10 ** 12) }}"),
        .init(
            "output",
            "{% for i in range(99999) %}{% for i in range(99) %}" + repeated("x", 999) + "{% endfor %}{% endfor %}"),
    ]

    @Test("within the limits of depth, time and size", arguments: hostile)
    func ends(template hostile: Hostile) throws {
        let start = ContinuousClock.now
        #expect(throws: ChatTemplateError.self) {
            let limits = ChatTemplateLimits(steps: 1_000_000)
            let template = try ChatTemplate(hostile.source, name: hostile.testDescription, limits: limits)
            _ = try template.render(ChatInput(messages: []), now: Fixtures.now)
        }
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test("cycles of namespaces and macros are printed, and released")
    func cycles() throws {
        let source = "{% set a = namespace() %}{% set a.a = a %}{% set a.b = [a, a] %}{{ a }}{% set a.m = [a] %}"
        let text = try ChatTemplate(source, name: "t").render(ChatInput(messages: []), now: Fixtures.now)
        #expect(text == "<Namespace {'a': <Namespace {...}>, 'b': [<Namespace {...}>, <Namespace {...}>]}>")
    }

    @Test("macros may call themselves as deep as Python's may")
    func depth() throws {
        let source = "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{{ n }},{% endmacro %}{{ m(150) }}"
        let text = try ChatTemplate(source, name: "t").render(ChatInput(messages: []), now: Fixtures.now)
        #expect(text == (0...150).map { "\($0)," }.joined())
    }

    @Test("limits are parameters")
    func parameters() throws {
        let source = "{% for i in range(100) %}{{ i }}{% endfor %}"
        let input = ChatInput(messages: [])
        for limits in [
            ChatTemplateLimits(steps: 100), ChatTemplateLimits(output: 50), ChatTemplateLimits(range: 99),
            ChatTemplateLimits(source: 10), ChatTemplateLimits(nesting: 1), ChatTemplateLimits(depth: 1),
        ] {
            let error = #expect(throws: ChatTemplateError.self) {
                _ = try ChatTemplate(source, name: "t", limits: limits).render(input, now: Fixtures.now)
            }
            #expect(error?.kind == .limit)
        }
    }

    @Test("a conversation of three million characters stays within the limits")
    func longConversation() throws {
        let messages = (0..<200).flatMap { _ -> [JSON] in
            [
                ["role": "user", "content": .string(Self.repeated("question ", 500))],
                ["role": "assistant", "content": .string(Self.repeated("word ", 2000))],
            ]
        }
        let source = try Fixtures.text("templates/Qwen-Qwen3.5-0.8B.jinja")
        let input = ChatInput(messages: .array(messages), addGenerationPrompt: true)
        let text = try ChatTemplate(source, name: "t").render(input, now: Fixtures.now)
        #expect(text.utf8.count > 2_900_000)
    }

    @Test("deeply nested inputs are an error")
    func deepInput() throws {
        let deep = (0..<1000).reduce(JSON.null) { inner, _ in .array([inner]) }
        let template = try ChatTemplate("{{ messages }}", name: "t")
        let error = #expect(throws: ChatTemplateError.self) { _ = try template.render(ChatInput(messages: deep)) }
        #expect(error?.kind == .limit)
    }
}
