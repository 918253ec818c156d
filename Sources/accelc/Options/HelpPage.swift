/// The text of help pages, made from the option tables.
enum HelpPage {
    /// The columns of the page: 100, or those of a narrower terminal.
    static var width: Int { min(100, Console.columns(of: .output) ?? 100) }

    static var overview: String {
        let column = (Commands.all.map { $0.name.count }.max() ?? 0) + 4
        let lines = Commands.all.map { row("  \($0.name)", $0.summary, column: column) }
        return """
            accelc - \(purpose)

            usage: accelc COMMAND ...

            \(lines.joined(separator: "\n"))

            \(flowing(ending))
            """
    }

    static let purpose = "converts models to compressed packages for CPUs and accelerators"

    static let exitStatuses: [(status: Int, meaning: String)] = [
        (0, "success"),
        (1, "a check failed (a limit is exceeded, two sides differ, the cache is damaged)"),
        (2, "wrong usage"), (3, "a file, server or resource is not available"), (4, "corrupt input"),
        (5, "internal error"),
        (130, "interrupted, or stopped by --timeout"),
    ]

    private static var ending: String {
        let statuses = exitStatuses.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ")
        return
            "\"accelc COMMAND --help\" explains a command, and \"accelc COMMAND --help-all\" lists all of its options. Exit status: \(statuses)."
    }

    /// Returns the page of `--help`: the common options, a short line each.
    static func page(of command: any Command.Type) -> String {
        var parts = head(of: command, examples: Array(command.examples.prefix(2)))
        if !command.positionals.isEmpty {
            parts.append(table(command.positionals.map { ("  \($0.name)", $0.summary) }))
        }
        let options = groups(of: command).flatMap(\.options).filter(\.isCommon)
        if !options.isEmpty { parts.append("options:\n" + table(options.map { (spelling($0), line($0)) })) }
        if !command.notes.isEmpty { parts.append(flowing(command.notes)) }
        let subjects = command.subjects.isEmpty ? "" : ", and explains \(list(command.subjects))"
        parts.append(
            flowing("\"accelc \(command.name) --help-all\" lists all \(command.allOptions.count) options\(subjects)."))
        return parts.joined(separator: "\n\n")
    }

    /// Returns the page of `--help-all`: all options by their groups, and all that is to know of each.
    static func fullPage(of command: any Command.Type) -> String {
        var parts = head(of: command, examples: command.examples)
        if !command.positionals.isEmpty {
            parts.append(table(command.positionals.map { ("  \($0.name)", $0.help) }))
        }
        for (group, options) in groups(of: command) {
            parts.append("\(group.rawValue):\n" + table(options.map { (spelling($0), explanation($0, of: command)) }))
        }
        parts += [command.notes, command.details].filter { !$0.isEmpty }.map(flowing)
        return parts.joined(separator: "\n\n")
    }

    private static func head(of command: any Command.Type, examples: [String]) -> [String] {
        let lines = examples.map { "  \($0)" }.joined(separator: "\n")
        return [flowing("accelc \(command.name) - \(command.summary)")]
            + (examples.isEmpty ? [] : ["examples:\n\(lines)"]) + ["usage: \(usage(of: command))"]
    }

    /// Returns the options of a command by their groups, in the order of the groups; groups without options are left out.
    static func groups(of command: any Command.Type) -> [(group: Option.Group, options: [Option])] {
        Option.Group.allCases.map { group in (group, command.allOptions.filter { $0.group == group }) }
            .filter { !$0.options.isEmpty }
    }

    private static func list(_ words: [String]) -> String {
        words.count < 2
            ? words.joined() : "\(words.dropLast().joined(separator: ", ")) and \(words[words.count - 1])"
    }

    /// Returns notes in lines of the page's width.
    private static func flowing(_ notes: String) -> String {
        paragraphs(of: notes).map { paragraph in
            let indent = paragraph.prefix { $0 == " " }
            guard paragraph.count > width else { return paragraph }
            return indent + broken(paragraph, column: indent.count).joined(separator: "\n\(indent)")
        }.joined(separator: "\n")
    }

    /// Returns the lines of notes. Lines that the notes break for their length alone are one paragraph; lines that begin with
    /// blanks stay lines.
    static func paragraphs(of notes: String) -> [String] {
        var paragraphs: [String] = []
        var last = ""
        for line in notes.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            let word = line.prefix { $0 != " " }
            if !word.isEmpty, !last.isEmpty, !last.hasPrefix(" "), last.count + word.count >= 90 {
                paragraphs[paragraphs.count - 1] += " \(line)"
            } else {
                paragraphs.append(line)
            }
            last = line
        }
        return paragraphs
    }

    static func usage(of command: any Command.Type) -> String {
        let words = command.positionals.map(\.usage) + command.options.filter(\.isRequired).map(\.usage)
        return (["accelc", command.name] + words + ["[options]"]).joined(separator: " ")
    }

    private static func spelling(_ option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        return "  \(short)--\(option.name)" + (option.placeholder.map { " \($0)" } ?? "")
    }

    /// Returns the explanation of an option in one short line.
    static func line(_ option: Option) -> String {
        option.summary + (option.defaultValue.map { " (default: \($0))" } ?? "")
    }

    static func explanation(_ option: Option, of command: any Command.Type) -> String {
        var text = option.help
        if !option.needs.isEmpty { text += " (only with \(Text.alternatives(option.needs.map(\.usage))))" }
        let excluded = command.allOptions.filter {
            option.excludes.contains($0.name) || $0.excludes.contains(option.name)
        }
        if !excluded.isEmpty { text += " (not with \(Text.alternatives(excluded.map { "--\($0.name)" })))" }
        if let value = option.defaultValue { text += " (default: \(value))" }
        if option.isRepeatable { text += " (may be repeated)" }
        return text
    }

    /// Returns two columns; an entry that is too long for the first column gets its own line.
    static func table(_ rows: [(String, String)]) -> String {
        let column = min((rows.map { $0.0.count }.max() ?? 0) + 2, min(28, width / 3))
        return rows.map { row($0.0, $0.1, column: column) }.joined(separator: "\n")
    }

    private static func row(_ left: String, _ right: String, column: Int) -> String {
        if right.isEmpty { return left }
        let indent = String(repeating: " ", count: column)
        let first =
            left.count + 2 > column
            ? "\(left)\n\(indent)" : left + String(repeating: " ", count: column - left.count)
        return first + broken(right, column: column).joined(separator: "\n\(indent)")
    }

    /// Returns the lines of a text that begins at a column.
    private static func broken(_ text: String, column: Int) -> [String] {
        var lines = [""]
        for word in text.split(separator: " ") {
            let line = lines[lines.count - 1]
            if !line.isEmpty, column + line.count + 1 + word.count > width {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
            }
        }
        return lines
    }
}
