/// Rows of a tensor of a model, its first axis counted in rows.
public struct TensorRows: Equatable, Sendable {
    public let tensor: String
    public let rows: Range<Int>

    init(tensor: String, rows: Range<Int>) {
        (self.tensor, self.rows) = (tensor, rows)
    }

    /// Of a text `FIRST END NAME`; nil for any other.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count == 3, let first = Int(words[0]), let end = Int(words[1]), 0 <= first, first < end else {
            return nil
        }
        self.init(tensor: String(words[2]), rows: first..<end)
    }

    var text: String { "\(rows.lowerBound) \(rows.upperBound) \(tensor)" }
}
