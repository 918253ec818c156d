import AccelPackages

/// Manual pages in roff with the macros of man(7), made from the option tables. The title line, which is the first one, has an
/// empty date: a release adds its own.
enum ManPage {
    /// Returns the page `accelc` of section 1.
    static var overview: String {
        let names = Commands.all.map { "accelc-\($0.name)" }
        return page(
            "accelc", HelpPage.purpose, "\(bold("accelc")) \(italic("COMMAND")) ...",
            [
                section("COMMANDS", Commands.all.map { entry(bold($0.name), $0.summary) }),
                section("EXIT STATUS", HelpPage.exitStatuses.map { entry(bold("\($0.status)"), $0.meaning) }),
                section("SEE ALSO", [references(to: names)]),
            ])
    }

    /// Returns the page `accelc-COMMAND` of section 1.
    static func page(of command: any Command.Type) -> String {
        let words = HelpPage.usage(of: command).split(separator: " ").dropFirst(2).joined(separator: " ")
        let options = HelpPage.groups(of: command).flatMap { group, options in
            [".SS \(group.rawValue)"] + options.map { entry(spelling($0), HelpPage.explanation($0, of: command)) }
        }
        let texts = [command.notes, command.details].filter { !$0.isEmpty }
        return page(
            "accelc-\(command.name)", command.summary, "\(bold("accelc \(command.name)")) \(text(words))",
            [
                section("ARGUMENTS", command.positionals.map { entry(italic($0.name), $0.help) }),
                section("EXAMPLES", command.examples.isEmpty ? [] : [".nf"] + command.examples.map(text) + [".fi"]),
                section("OPTIONS", options),
                section("NOTES", texts.isEmpty ? [] : [notes(texts.joined(separator: "\n\n"))]),
                section("SEE ALSO", [references(to: ["accelc"])]),
            ])
    }

    private static func page(_ name: String, _ purpose: String, _ synopsis: String, _ sections: [String?]) -> String {
        let title = ".TH \(text(name.uppercased())) 1 \"\" \"accelc \(Tool.version)\" \"accelc\""
        let head = [section("NAME", ["\(text(name)) \\- \(text(purpose))"]), section("SYNOPSIS", [synopsis])]
        return ([title, ".nh", ".ad l"] + (head + sections).compactMap { $0 }).joined(separator: "\n")
    }

    /// Returns a section; nil for one without lines.
    private static func section(_ title: String, _ lines: [String]) -> String? {
        lines.isEmpty ? nil : ([".SH \(title)"] + lines).joined(separator: "\n")
    }

    /// Returns a tagged paragraph.
    private static func entry(_ tag: String, _ body: String) -> String { ".TP\n\(tag)\n\(text(body))" }

    private static func spelling(_ option: Option) -> String {
        let names = (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
        return names.map(bold).joined(separator: ", ") + (option.placeholder.map { " \(italic($0))" } ?? "")
    }

    private static func references(to names: [String]) -> String {
        names.map { "\(bold($0))(1)" }.joined(separator: ",\n")
    }

    /// Returns notes as paragraphs. Lines that begin with blanks are printed as they are.
    private static func notes(_ notes: String) -> String {
        var lines: [String] = []
        var previous = ""
        for paragraph in HelpPage.paragraphs(of: notes) {
            if isVerbatim(paragraph) != isVerbatim(previous) {
                lines.append(isVerbatim(paragraph) ? ".nf" : ".fi")
            }
            if paragraph.isEmpty {
                lines.append(".PP")
            } else if isVerbatim(paragraph) || previous.isEmpty || isVerbatim(previous) {
                lines.append(text(paragraph))
            } else {
                lines += [".br", text(paragraph)]
            }
            previous = paragraph
        }
        if isVerbatim(previous) { lines.append(".fi") }
        return lines.joined(separator: "\n")
    }

    private static func isVerbatim(_ paragraph: String) -> Bool { paragraph.hasPrefix(" ") }

    private static func bold(_ word: String) -> String { "\\fB\(text(word))\\fR" }

    private static func italic(_ word: String) -> String { "\\fI\(text(word))\\fR" }

    /// Returns a text without markup. Characters that a typesetter would replace are protected, so that options can be copied
    /// from the page.
    private static func text(_ text: String) -> String {
        let escapes: [Character: String] = [
            "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
        ]
        let escaped = text.map { escapes[$0] ?? String($0) }.joined()
        return escaped.hasPrefix(".") ? "\\&\(escaped)" : escaped
    }
}
