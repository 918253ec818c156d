import AccelByteIO

/// The storage of a weight, by a report of `verify`.
struct StoredWeight: Equatable {
    let scheme: String
    let byteCount: Int

    fileprivate var json: JSON { ["compress": .string(scheme), "bytes": .integer(Int64(byteCount))] }
}

extension ReportDiff {
    /// A weight that the two reports have in different forms, or that one of them lacks.
    struct ChangedWeight {
        let name: String
        let left: StoredWeight?
        let right: StoredWeight?

        var json: JSON {
            ["name": .string(name), "left": left?.json ?? .null, "right": right?.json ?? .null]
        }
    }

    /// In the order of their names by numbers.
    var changedWeights: [ChangedWeight] {
        Set(left.weights.keys).union(right.weights.keys).sortedByNumbers().compactMap { name in
            let (before, after) = (left.weights[name], right.weights[name])
            return before == after ? nil : ChangedWeight(name: name, left: before, right: after)
        }
    }

    /// - Parameter folds: weights of the same schemes whose names differ in numbers only share a line, with the sum of their bytes.
    static func table(of weights: [ChangedWeight], folds: Bool) -> String {
        let groups =
            folds
            ? FoldedNames.all(weights, name: \.name) { [$0.left?.scheme, $0.right?.scheme] }
                .map { ($0.shortName, $0.elements) } : weights.map { ($0.name, [$0]) }
        let rows = groups.map { name, weights in
            let sides = [weights.map(\.left), weights.map(\.right)]
            let bytes = sides.map { side in side.reduce(0) { $0 + ($1?.byteCount ?? 0) } }
            return [name] + sides.map { $0.first??.scheme ?? "-" } + bytes.map { Wording.bytes($0) }
        }
        return Text.table(
            ["weight", "stored in A as", "in B as", "bytes in A", "in B"], rows, [.left, .left, .left, .right, .right])
    }
}
