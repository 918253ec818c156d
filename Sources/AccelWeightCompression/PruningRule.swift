/// The choice of weights that become zero. Weights that would be stored as equal values are treated alike.
enum PruningRule: Sendable {
    /// Prunes this share of all weights, those of smallest magnitude.
    case target(Double)
    /// Prunes weights of smaller magnitude.
    case threshold(Double)
    /// Prunes all but the `keep` largest of every `of` neighbours in a row.
    case pattern(keep: Int, of: Int)

    /// Returns the largest number of weights that the rule keeps.
    func kept(rows: Int, columns: Int) -> Int {
        switch self {
        case .target(let share): rows * columns - Int(Double(rows * columns) * share)
        case .threshold: rows * columns
        case .pattern(let keep, let size): rows * (columns / size * keep + min(keep, columns % size))
        }
    }

    /// The most weights that are pruned because they tie with the largest pruned one. The limit protects tensors with
    /// few distinct values.
    private static func mostTies(_ count: Int) -> Int { count / 256 }

    /// Returns true for the weights that the rule keeps. A zero is never kept.
    /// - Parameter stored: the weights as they would be stored.
    func mask(_ floats: [Float], stored: [Float], columns: Int) -> [Bool] {
        var mask: [Bool]
        switch self {
        case .target:
            mask = largestMagnitudes(kept(rows: 1, columns: floats.count), of: floats)
            let limit = Self.largestPruned(stored, mask)
            let ties = mask.indices.filter { mask[$0] && abs(stored[$0]) == limit }
            if ties.count <= Self.mostTies(floats.count) { for index in ties { mask[index] = false } }
        case .threshold(let least): mask = floats.map { Double(abs($0)) >= least }
        case .pattern(let keep, let size):
            mask = [Bool](repeating: false, count: floats.count)
            for row in stride(from: 0, to: floats.count, by: max(columns, 1)) {
                for start in stride(from: row, to: row + columns, by: size) {
                    let group = start..<min(start + size, row + columns)
                    let order = group.sorted { (abs(floats[$1]), $0) < (abs(floats[$0]), $1) }
                    for index in order.prefix(keep) { mask[index] = true }
                }
            }
        }
        for index in mask.indices where floats[index] == 0 { mask[index] = false }
        return mask
    }

    /// Returns the first element in `range` (whole rows) for which `mask` breaks the rule, with the reason.
    func violation(
        _ mask: [Bool], of floats: [Float], stored: [Float], columns: Int, in range: Range<Int>
    ) -> (index: Int, reason: String)? {
        if let zero = range.first(where: { mask[$0] && floats[$0] == 0 }) { return (zero, "is zero, but kept") }
        switch self {
        case .target:
            var least = Float.infinity
            for index in floats.indices where mask[index] { least = min(least, abs(floats[index])) }
            if let index = range.first(where: { !mask[$0] && abs(floats[$0]) > least }) {
                return (index, "is pruned before a smaller one")
            }
            let (count, nonzero) = (mask.count { $0 }, floats.count { $0 != 0 })
            let missing = min(kept(rows: 1, columns: floats.count), nonzero) - count
            let limit = Self.largestPruned(stored, mask)
            let ties = floats.indices.count { !mask[$0] && floats[$0] != 0 && abs(stored[$0]) == limit }
            guard missing > min(ties, Self.mostTies(floats.count)) else { return nil }
            return range.first { !mask[$0] && floats[$0] != 0 }.map { ($0, "is pruned, though more are to be kept") }
        case .threshold(let least):
            return range.first { mask[$0] != (Double(abs(floats[$0])) >= least && floats[$0] != 0) }
                .map { ($0, mask[$0] ? "is kept below the threshold" : "is pruned above the threshold") }
        case .pattern(let keep, let size):
            for row in stride(from: range.lowerBound, to: range.upperBound, by: max(columns, 1)) {
                for start in stride(from: row, to: row + columns, by: size) {
                    let group = start..<min(start + size, row + columns)
                    let kept = group.filter { mask[$0] }
                    guard kept.count <= keep else { return (kept[keep], "is kept, one too many of its group") }
                    let least = kept.count < keep ? 0 : kept.map { abs(floats[$0]) }.min() ?? 0
                    if let index = group.first(where: { !mask[$0] && abs(floats[$0]) > least }) {
                        return (index, "is pruned before a smaller one of its group")
                    }
                }
            }
            return nil
        }
    }

    /// Returns the largest magnitude among the pruned weights.
    private static func largestPruned(_ floats: [Float], _ mask: [Bool]) -> Float {
        floats.indices.reduce(0) { mask[$1] ? $0 : max($0, abs(floats[$1])) }
    }
}
