import AccelByteIO

/// The weights of a Core ML or Core AI file, in the report of the export.
struct WeightOutcomes {
    /// Sorted by name.
    let sorted: [(name: String, outcome: WeightOutcome)]
    /// The names of tables whose numbers exceed float16.
    private let clamped: Set<String>

    init(_ outcomes: [String: WeightOutcome], clamped: Set<String>) {
        sorted = outcomes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        self.clamped = clamped
    }

    var byteCount: Int { sorted.reduce(0) { $0 + $1.outcome.byteCount } }

    var bitsPerWeight: Double {
        let count = sorted.reduce(0) { $0 + $1.outcome.count }
        return count == 0 ? 0 : Double(byteCount * 8) / Double(count)
    }

    /// The numbers of weights by the operation that makes them.
    var operations: String { NameCounts(sorted.map(\.outcome.operation)).sortedByName }

    /// Sentences on weights that fell back to plain numbers, and on numbers that exceed float16.
    var warnings: [String] {
        PlainWeights(sorted).warnings
            + clamped.sorted().map { "table \(quoted($0)): what exceeds float16 became 30000 or -30000" }
    }

    var json: JSON {
        .array(
            sorted.map { name, outcome in
                let sentences = [("fallback", outcome.fallback), ("remark", outcome.remark)]
                return .object(
                    [
                        .init("name", .string(name)), .init("form", .string(outcome.operation)),
                        .init("bytes", .integer(Int64(outcome.byteCount))),
                        .init("bits_per_weight", .number(outcome.bitsPerWeight)),
                    ] + sentences.compactMap { key, text in text.map { .init(key, .string($0)) } })
            })
    }
}
