import AccelByteIO
import AccelWeightCompression

/// The weights that an export has as plain numbers although the recipe compresses them.
struct PlainWeights {
    /// A weight with the reason, in words.
    private struct Weight {
        let name: String
        let reason: String
        let byteCount: Int
    }

    private var weights: [Weight] = []
    /// The names that a warning lists.
    private static let listed = 4

    /// The weights of Core ML's and Core AI's files that fell back.
    init(_ outcomes: [(name: String, outcome: WeightOutcome)]) {
        for (name, outcome) in outcomes {
            if let reason = outcome.fallback { add(name, reason, byteCount: outcome.byteCount) }
        }
    }

    /// Weights that the files have as they are stored.
    /// - Parameter reasons: by the weights' names.
    init(_ reasons: [String: String], of stored: [CompressedTensor]) {
        for weight in stored {
            if let reason = reasons[weight.name] { add(weight.name, reason, byteCount: weight.byteCount) }
        }
    }

    /// - Parameter byteCount: the size in the export.
    private mutating func add(_ name: String, _ reason: String, byteCount: Int) {
        weights.append(Weight(name: name, reason: reason, byteCount: byteCount))
    }

    /// A warning for each reason, with the size of its weights. Names that differ in numbers only are folded.
    var warnings: [String] {
        let reasons = Dictionary(grouping: weights, by: \.reason).sorted { $0.key < $1.key }
        return reasons.map { reason, weights in
            let size = "\(Wording.bytes(weights.reduce(0) { $0 + $1.byteCount })) of the export"
            guard weights.count > 1 else {
                return "weight \(quoted(weights[0].name)) is written as plain numbers, \(size): \(reason)"
            }
            let names = FoldedNames.all(weights.sortedByNumbers(\.name), name: \.name) { _ in 0 }.map(\.shortName)
            return "\(weights.count) weights are written as plain numbers, \(size): \(reason) "
                + "(\(Wording.listed(names, most: Self.listed)))"
        }
    }
}
