/// A range of rows (indices of the first axis) of a model's tensor.
public struct TensorRows: Equatable, Sendable {
    /// The tensor's name.
    public let tensor: String
    /// The rows; never empty.
    public let rows: Range<Int>

    init(tensor: String, rows: Range<Int>) {
        (self.tensor, self.rows) = (tensor, rows)
    }

    /// Parses `FIRST END NAME`; nil for any other text.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count == 3, let first = Int(words[0]), let end = Int(words[1]), 0 <= first, first < end else {
            return nil
        }
        self.init(tensor: String(words[2]), rows: first..<end)
    }

    var text: String { "\(rows.lowerBound) \(rows.upperBound) \(tensor)" }
}
