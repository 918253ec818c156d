/// Aligned columns of text, two blanks apart. Where they are wider than the lines may be, cells of text are wrapped; where
/// that takes too many lines, each row becomes a paragraph: its first cell, then the other cells with their titles.
package struct TextTable {
    package struct Column {
        var title: String
        var isNumber: Bool
        package init(_ title: String, number: Bool = false) {
            self.title = title
            isNumber = number
        }
    }
    private let columns: [Column]
    private var rows: [[String]] = []
    /// A row with more lines becomes a paragraph.
    private static let mostLines = 3

    package init(_ columns: [Column]) { self.columns = columns }

    package mutating func add(_ cells: [String]) { rows.append(cells) }

    /// Returns the lines of the table.
    /// - Parameter width: the most columns of a line; nil for any number.
    package func lines(width: Int?, indent: Int = 2) -> [String] {
        rowLines(width: width, indent: indent).flatMap(\.self)
    }

    /// Returns the lines of each row, the titles first.
    package func rowLines(width: Int?, indent: Int = 2) -> [[String]] {
        let cells = [columns.map(\.title)] + rows
        let natural = columns.indices.map { column in cells.map { TextLayout.columns(of: $0[column]) }.max() ?? 0 }
        guard let width else { return cells.map { aligned($0, natural, indent) } }
        let available = width - indent - 2 * (columns.count - 1)
        if natural.reduce(0, +) <= available { return cells.map { aligned($0, natural, indent) } }
        if let widths = widths(natural, within: available) {
            let lines = cells.map { aligned($0, widths, indent) }
            if lines.allSatisfy({ $0.count <= Self.mostLines }) { return lines }
        }
        let title = String(repeating: " ", count: indent) + (columns.first?.title ?? "")
        return [TextLayout.wrapped(title, width: width, hanging: indent)] + rows.map { paragraph($0, width, indent) }
    }

    /// Returns widths that add up to at most `available`: the widest columns of text are made narrower, but no part of a
    /// cell is broken. Nil if that is not enough.
    private func widths(_ natural: [Int], within available: Int) -> [Int]? {
        let least = columns.indices.map { column in
            let title = TextLayout.longestPart(of: columns[column].title)
            let cells = rows.map { row in
                columns[column].isNumber ? row[column].count : TextLayout.longestPart(of: row[column])
            }
            return max(title, cells.max() ?? 0)
        }
        guard least.reduce(0, +) <= available else { return nil }
        var widths = natural
        while widths.reduce(0, +) > available {
            let shrinking = widths.indices.filter { widths[$0] > least[$0] }
            guard let widest = shrinking.max(by: { widths[$0] < widths[$1] }) else { return nil }
            widths[widest] -= 1
        }
        return widths
    }

    private func aligned(_ cells: [String], _ widths: [Int], _ indent: Int) -> [String] {
        let wrapped = cells.indices.map { TextLayout.wrapped(cells[$0], width: widths[$0]) }
        return (0..<(wrapped.map(\.count).max() ?? 0)).map { line in
            var text = String(repeating: " ", count: indent)
            for column in columns.indices {
                let cell = wrapped[column].indices.contains(line) ? wrapped[column][line] : ""
                let gap = String(repeating: " ", count: max(0, widths[column] - TextLayout.columns(of: cell)))
                text += columns[column].isNumber ? gap + cell : cell + gap
                if column < columns.count - 1 { text += "  " }
            }
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    private func paragraph(_ cells: [String], _ width: Int, _ indent: Int) -> [String] {
        func lines(_ text: String, _ indent: Int) -> [String] {
            TextLayout.wrapped(String(repeating: " ", count: indent) + text, width: width, hanging: indent + 2)
        }
        var details: [String] = []
        for (column, cell) in zip(columns, cells).dropFirst() where !cell.isEmpty {
            let detail = column.title.isEmpty ? cell : "\(column.title) \(cell)"
            if let last = details.last, indent + 4 + last.count + 2 + detail.count <= width {
                details[details.count - 1] = "\(last), \(detail)"
            } else {
                details.append(detail)
            }
        }
        return lines(cells.first ?? "", indent) + details.flatMap { lines($0, indent + 4) }
    }
}
