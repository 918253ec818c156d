import AccelTensors

/// How many rows of an output have their largest value where a golden's `labels` say: a classifier's accuracy.
public struct LabelScore: Equatable, Sendable {
    public let right: Int
    /// The same for the golden's own output, which is what the original framework scores.
    public let originalRight: Int
    public let count: Int

    /// nil unless `values` and `original` are one row for each label.
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
