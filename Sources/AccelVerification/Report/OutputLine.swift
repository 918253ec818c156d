import AccelByteIO
import AccelTensors

/// A line on outputs: of one, or of the worst of several whose names differ in numbers only, such as the keys of all layers.
struct OutputLine {
    /// The worst output: one that fails, if any does, with the lowest SQNR.
    let row: OutputFinding
    /// The name; of several, both ends and the worst: `k.0 to k.23, worst k.7`.
    let title: String
    /// The number of outputs on the line.
    let count: Int
    /// The exceeded limit of the worst output, and the number of others that fail; nil if all pass.
    let failure: String?
}

extension ParityReport {
    /// Returns the lines of a table of outputs.
    func lines(of rows: [OutputFinding]) -> [OutputLine] {
        FoldedNames.all(rows, name: \.name) { row in
            [row.stage.code, row.function, row.reference.rawValue, row.shape.description]
        }.compactMap { group in
            func rank(_ row: OutputFinding) -> (Int, Double) { (row.failure == nil ? 1 : 0, row.metrics.sqnr) }
            guard let worst = group.elements.min(by: { rank($0) < rank($1) }) else { return nil }
            let function = title(of: worst).dropLast(worst.name.count)
            let others = group.elements.count { $0.failure != nil } - 1
            return OutputLine(
                row: worst,
                title: group.elements.count == 1
                    ? title(of: worst) : "\(function)\(group.name), worst \(worst.name)",
                count: group.elements.count,
                failure: worst.failure.map { others > 0 ? "\($0), and \(others) more fail" : $0 })
        }
    }
}
