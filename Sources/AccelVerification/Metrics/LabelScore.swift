import AccelTensors

/// A classifier's accuracy: the rows of an output whose largest element is at the index that the golden's `labels`
/// give.
public struct LabelScore: Equatable, Sendable {
    /// The number of rows whose largest element is at the label.
    public let right: Int
    /// The same number for the golden's own output: the score of the original framework.
    public let originalRight: Int
    /// The number of labels, one for each row.
    public let count: Int

    /// Returns nil unless `values` and `original` have one row for each label.
    init?(_ values: [Float], original: [Float], labels: StoredTensor) {
        let wanted = labels.shape.count
        guard wanted > 0, values.count == original.count, values.count % wanted == 0 else { return nil }
        let width = values.count / wanted
        let labels = labels.integers()
        func score(_ rows: [Float]) -> Int {
            labels.indices.count { row in
                let row = (start: row * width, label: labels[row])
                guard (0..<Int64(width)).contains(row.label) else { return false }
                let largest = (row.start..<row.start + width).max { rows[$0] < rows[$1] }
                return largest == row.start + Int(row.label)
            }
        }
        (right, originalRight, count) = (score(values), score(original), wanted)
    }
}
