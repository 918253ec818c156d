import AccelByteIO
import AccelFormats

enum FormatsCommand: Command {
    static let name = "formats"
    static let summary = "list the formats that are read and written, with their families and schemes"
    static let options = [CommonOptions.json]
    static var notes: String {
        "Weights that are read: kept preserves their codes if the output has the scheme; exact preserves their\n"
            + "numbers; decoded compresses their exact values again. Schemes that are written have the names that\n"
            + "--compress takes, with the default of every other option."
    }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        console.result(FormatTable.json, FormatTable.rows.map(text).joined(separator: "\n\n"))
        return .success
    }

    private static func text(_ row: FormatTable.Row) -> String {
        let reading = row.reading
        var lines = ["\(row.format.name): \(row.format.title)"]
        let what = reading.hasFunctions ? "read" : "weights read"
        lines.append("  \(what), families: \(families(reading.families))")
        for way in [FormatReading.Way.exact, .kept, .decoded, .merged] {
            let schemes = reading.schemes.filter { $0.way == way }.map(\.name)
            if !schemes.isEmpty { lines += wrapped("  \(what), \(way.rawValue): ", schemes) }
        }
        if !reading.rejected.isEmpty { lines += wrapped("  rejected: ", reading.rejected.map(\.name)) }
        guard let writing = row.writing else { return (lines + ["  not written"]).joined(separator: "\n") }
        lines.append("  written, families: \(families(writing.families))")
        lines += wrapped("  written: ", writing.schemes)
        if let option = writing.option { lines += wrapped("  written by --\(option.name): ", option.allowed) }
        return lines.joined(separator: "\n")
    }

    private static func families(_ names: [String]?) -> String { names?.joined(separator: ", ") ?? "all" }

    /// Returns words in lines of the help page's width.
    private static func wrapped(_ head: String, _ words: [String]) -> [String] {
        TextLayout.wrapped(head + words.joined(separator: ", "), width: HelpPage.width, hanging: 4)
    }
}
