import AccelByteIO

/// Numbers of operators, matrices or layers by a name, for reports.
struct NameCounts: CustomStringConvertible {
    private let counts: [String: Int]

    init(_ counts: [String: Int]) { self.counts = counts }

    /// Counts names.
    init(_ names: [String]) { counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +) }

    var isEmpty: Bool { counts.isEmpty }

    /// The names in the order of their numbers, the largest first.
    var mostFirst: [(name: String, count: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// e.g. `12 linear, 3 softmax`
    var description: String { mostFirst.map { "\($0.count) \($0.name)" }.joined(separator: ", ") }

    /// The same in the order of the names.
    var sortedByName: String {
        counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    /// An object with the numbers by name, sorted.
    var json: JSON { .object(counts.sorted { $0.key < $1.key }.map { .init($0.key, .integer(Int64($0.value))) }) }
}
