import AccelByteIO

/// A table of the page. Cells are escaped here and nowhere else. On a narrow screen each row is a list of cells with their
/// titles.
struct HTMLTable {
    enum Cell {
        case name(String)
        case text(String)
        case number(String)
        /// `passed`, or the failure.
        case state(String?)
    }
    let titles: [(text: String, isNumber: Bool)]
    private var rows: [String] = []
    /// A table with more rows is folded away behind a line that counts them.
    private static let mostOpenRows = 24

    /// - Parameter titles: a `#` at the end of a title marks a column of numbers.
    init(_ titles: String...) { self.init(titles) }

    init(_ titles: [String]) {
        self.titles = titles.map { $0.hasSuffix("#") ? (String($0.dropLast()), true) : ($0, false) }
    }

    mutating func add(_ cells: [Cell]) {
        let content = zip(titles, cells).map { title, cell in
            let title = title.text.isEmpty ? "" : " data-title=\"\(XML.escaped(title.text))\""
            return switch cell {
            case .name(let text): "<td class=\"name\"\(title)><code>\(XML.escaped(text))</code></td>"
            case .text(let text): "<td\(title)>\(XML.escaped(text))</td>"
            case .number(let text): "<td class=\"n\"\(title)>\(XML.escaped(text))</td>"
            case .state(nil): "<td class=\"good\"\(title)>passed</td>"
            case .state(let reason?): "<td class=\"bad\"\(title)>\(XML.escaped(reason))</td>"
            }
        }
        rows.append("<tr>\(content.joined())</tr>")
    }

    var html: String {
        let head = titles.map { "<th\($0.isNumber ? " class=\"n\"" : "")>\(XML.escaped($0.text))</th>" }.joined()
        return "<div class=\"scroll\"><table>\n<thead><tr>\(head)</tr></thead>\n<tbody>\n"
            + rows.joined(separator: "\n") + "\n</tbody></table></div>\n"
    }

    /// The table behind a line, open if it is short.
    func folded(_ summary: String, isOpen: Bool? = nil) -> String {
        let open = isOpen ?? (rows.count <= Self.mostOpenRows) ? " open=\"open\"" : ""
        return "<details\(open)><summary>\(XML.escaped(summary))</summary>\n\(html)</details>\n"
    }

    var isEmpty: Bool { rows.isEmpty }
}
