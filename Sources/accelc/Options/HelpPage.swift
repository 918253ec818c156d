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

    static let purpose = "compiles models for accelerators: checkpoints in, compressed packages out"

    static let exitStatuses: [(status: Int, meaning: String)] = [
        (0, "success"),
        (1, "what was asked is not so (parity or a budget is exceeded, two sides differ, the cache is damaged)"),
        (2, "usage"), (3, "something needed is missing or out of reach"), (4, "corrupt input"), (5, "internal error"),
        (130, "interrupted or out of time"),
    ]

    private static var ending: String {
        let statuses = exitStatuses.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ")
        return "\"accelc COMMAND --help\" explains a command. Exit status: \(statuses)."
    }

    static func page(of command: any Command.Type) -> String {
        var parts = [flowing("accelc \(command.name) - \(command.summary)")]
        if !command.examples.isEmpty {
            parts.append("examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        }
        parts.append("usage: \(usage(of: command))")
        if !command.positionals.isEmpty {
            parts.append(table(command.positionals.map { ("  \($0.name)", $0.help) }))
        }
        if !command.options.isEmpty {
            parts.append("options:\n" + table(command.options.map { (spelling($0), explanation($0, of: command)) }))
        }
        parts.append(
            "options of every command:\n"
                + table(CommonOptions.all.map { (spelling($0), explanation($0, of: command)) }))
        if !command.notes.isEmpty { parts.append(flowing(command.notes)) }
        return parts.joined(separator: "\n\n")
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
