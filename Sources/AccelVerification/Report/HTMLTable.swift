import AccelByteIO

/// A table of the page. Cells are escaped here and nowhere else.
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

    /// - Parameter titles: a `#` at the end of a title marks a column of numbers.
    init(_ titles: String...) {
        self.titles = titles.map { $0.hasSuffix("#") ? (String($0.dropLast()), true) : ($0, false) }
    }

    mutating func add(_ cells: [Cell]) {
        let content = cells.map { cell in
            switch cell {
            case .name(let text): "<td class=\"name\"><code>\(XML.escaped(text))</code></td>"
            case .text(let text): "<td>\(XML.escaped(text))</td>"
            case .number(let text): "<td class=\"n\">\(XML.escaped(text))</td>"
            case .state(nil): "<td class=\"good\">passed</td>"
            case .state(let reason?): "<td class=\"bad\">\(XML.escaped(reason))</td>"
            }
        }
        rows.append("<tr>\(content.joined())</tr>")
    }

    var html: String {
        let head = titles.map { "<th\($0.isNumber ? " class=\"n\"" : "")>\(XML.escaped($0.text))</th>" }.joined()
        return "<div class=\"scroll\"><table>\n<thead><tr>\(head)</tr></thead>\n<tbody>\n"
            + rows.joined(separator: "\n") + "\n</tbody></table></div>\n"
    }

    var isEmpty: Bool { rows.isEmpty }
}
