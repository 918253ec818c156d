import AccelByteIO
import AccelChatTemplates
import Foundation
import Testing

@Suite("Random chat templates never trap, hang or exceed their limits")
struct FuzzTests {
    /// SplitMix64, so that a failure can be repeated.
    struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    static let limits = ChatTemplateLimits(steps: 20_000, output: 100_000, range: 1000)
    /// ACCELC_FUZZ_ROUNDS makes the tests longer.
    static let rounds = Int(ProcessInfo.processInfo.environment["ACCELC_FUZZ_ROUNDS"] ?? "") ?? 300

    static let tokens = [
        "{{", "}}", "{%", "%}", "{%-", "-%}", "{#", "#}", "if", "else", "elif", "endif", "for", "in", "endfor", "set",
        "endset", "macro", "endmacro", "call", "endcall", "filter", "endfilter", "with", "endwith", "break", "continue",
        "recursive", "loop", "loop.index", "loop(x)", "messages", "tools", "x", "y", "m", "m(x)", "ns", "namespace()",
        "namespace(x=1)", "ns.x", "range(9)", "(", ")", "[", "]", "{", "}", ",", ":", ".", "|", "is", "not", "and",
        "or",
        "==", "<", "+", "-", "*", "/", "//", "%", "**", "~", "=", "1", "0", "-1", "9223372036854775807", "1.5", "1e308",
        "'a'", "'%s'", "'{}'", "none", "true", "upper", "map", "list", "join", "length", "sort", "tojson", "default",
        "select", "selectattr", "batch", "slice", "groupby", "format", "indent", "center", "round", "int", "items()",
        "split()", "defined", "mapping", "content", "\n", " ", "raw", "endraw", "generation", "endgeneration", "\\",
        "'",
        "é", "👩‍👩‍👧", "caller()", "kwargs", "varargs",
    ]

    /// Renders a template; an error of a template is fine.
    private func render(_ source: String, _ input: ChatInput) throws {
        do {
            let template = try ChatTemplate(source, name: "random", limits: Self.limits)
            let text = try template.render(input, now: Fixtures.now)
            #expect(text.unicodeScalars.count <= Self.limits.output)
        } catch is ChatTemplateError {}
    }

    @Test("random tokens")
    func randomTokens() throws {
        let input = try Fixtures.conversations()[7].input
        for round in 0..<Self.rounds * 3 {
            var random = Random(state: UInt64(round))
            let count = Int.random(in: 1...40, using: &random)
            var source = ""
            for _ in 0..<count {
                source += (Self.tokens.randomElement(using: &random) ?? "") + (Bool.random(using: &random) ? " " : "")
            }
            try render(source, input)
            try render("{{ " + source + " }}", input)
        }
    }

    @Test("real templates with changed, lost, doubled and exchanged pieces")
    func mutations() throws {
        let conversations = try Fixtures.conversations()
        let names = try Fixtures.lines("goldens.jsonl").map { try JSONField($0, file: "goldens")["template"].string() }
        for round in 0..<Self.rounds {
            var random = Random(state: UInt64(round) &+ 1 << 40)
            let name = names[round % names.count]
            let source = try Fixtures.text("templates/\(name)")
            let conversation = conversations[Int.random(in: 0..<conversations.count, using: &random)]
            try render(Self.mutated(source, using: &random), conversation.input)
        }
    }

    private static func mutated(_ source: String, using random: inout Random) -> String {
        var scalars = Array(source.unicodeScalars)
        for _ in 0..<Int.random(in: 1...6, using: &random) where !scalars.isEmpty {
            let start = Int.random(in: 0..<scalars.count, using: &random)
            let end = min(scalars.count, start + Int.random(in: 1...30, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: scalars.removeSubrange(start..<end)
            case 1:
                scalars.insert(contentsOf: scalars[start..<end], at: Int.random(in: 0...scalars.count, using: &random))
            case 2: scalars.insert(contentsOf: (tokens.randomElement(using: &random) ?? "").unicodeScalars, at: start)
            case 3:
                scalars.replaceSubrange(start..<end, with: (tokens.randomElement(using: &random) ?? "").unicodeScalars)
            default: scalars[start] = Unicode.Scalar(UInt8.random(in: 0...127, using: &random))
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
