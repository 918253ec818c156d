import Accel
import AccelByteIO

/// A run that finds the lines of a file that are nearest to texts.
struct TextSearch {
    static let search = Option(
        "search", .input("FILE"), in: .input,
        "print the lines of a file that are nearest to each text of --text. The model has to make vectors of texts",
        excludes: ["image"], needs: [.option("text")])
    static let nearest = Option(
        "nearest", .integer(1...1_000_000), in: .format, "the number of lines that --search prints", default: "5",
        needs: [.option("search")])

    /// The lines whose vectors are computed between two steps of progress.
    private static let linesAtOnce = 256

    let model: AccelModel
    /// The lines that are searched.
    let lines: GivenTexts
    let arguments: Arguments
    let console: Console

    func run(on given: GivenTexts) throws {
        let texts = given.texts
        let (model, lines, truncates) = (model, lines, arguments.has(TextOptions.truncate))
        let count = arguments.integer(Self.nearest) ?? 5
        var index = TextIndex(by: model, truncates: truncates)
        let progress = console.progress("reading lines", total: lines.texts.count)
        for start in stride(from: 0, to: lines.texts.count, by: Self.linesAtOnce) {
            let part = Array(lines.texts[start..<min(start + Self.linesAtOnce, lines.texts.count)])
            index = try lines.locating {
                try waiting { [index] in
                    var index = index
                    try await index.append(part)
                    return index
                }
            }
            progress.reach(index.texts.count, Wording.count(index.texts.count, "line"))
        }
        progress.finish()
        let found = try waiting { [index] () -> [[TextIndex.Match]] in
            var found: [[TextIndex.Match]] = []
            for text in texts { found.append(try await index.nearest(to: text, count: count)) }
            return found
        }
        guard !arguments.has(CommonOptions.json) else {
            console.print(["texts": .array(zip(texts, found).map(document))])
            return
        }
        for (text, matches) in zip(texts, found) {
            if texts.count > 1 { console.print(verbatim: text) }
            let margin = texts.count > 1 ? "  " : ""
            for match in matches {
                console.print(verbatim: "\(margin)\(Text.decimals(Double(match.score), 4))\t\(match.text)")
            }
        }
    }

    private func document(_ text: String, _ matches: [TextIndex.Match]) -> JSON {
        [
            "text": .string(text),
            "nearest": .array(
                matches.map { match in
                    [
                        "line": .int(lines.line(of: match.index)),
                        "score": .number((Double(match.score) * 1e6).rounded() / 1e6),
                        "text": .string(match.text),
                    ]
                }),
        ]
    }
}
