/// Aligned columns of text within a width. The first column is shortened if the rows are too long.
struct TextTable {
    struct Column {
        var title: String
        var isNumber: Bool
        init(_ title: String, number: Bool = false) {
            self.title = title
            isNumber = number
        }
    }
    let columns: [Column]
    private(set) var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    func lines(width: Int, indent: Int = 2) -> [String] {
        var widths = columns.enumerated().map { index, column in
            rows.reduce(column.title.count) { max($0, $1[index].count) }
        }
        let gaps = 2 * (columns.count - 1) + indent
        let excess = widths.reduce(gaps, +) - width
        if excess > 0 { widths[0] = max(12, widths[0] - excess) }
        let titles = columns.map(\.title)
        return ([titles] + rows).map { cells in
            let padded = cells.enumerated().map { index, cell in
                pad(shortened(cell, to: widths[index]), to: widths[index], right: columns[index].isNumber)
            }
            let line = String(repeating: " ", count: indent) + padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    private func pad(_ text: String, to width: Int, right: Bool) -> String {
        let padding = String(repeating: " ", count: max(0, width - text.count))
        return right ? padding + text : text + padding
    }

    /// Shortens the middle of a text, because the end of a label is its most specific part.
    private func shortened(_ text: String, to width: Int) -> String {
        guard text.count > width, width > 4 else { return text }
        let head = (width - 1) / 3
        return "\(text.prefix(head))…\(text.suffix(width - 1 - head))"
    }
}
