import AccelByteIO

/// The result of comparing a package with a new conversion of the model, before any function runs.
public struct StructureFinding: Sendable {
    /// An item of the package that differs from a new conversion of the model.
    public struct Difference: Equatable, Sendable {
        /// The location: a function with the label of a call, a tensor, a file, or a field of the provenance.
        public let name: String
        /// The found and the expected value.
        public let reason: String
    }
    /// The numbers of compared items by kind, e.g. `("calls", 90)`.
    public internal(set) var compared: [(what: String, count: Int)] = []
    /// Differences that the budget does not allow; each is a failure.
    public internal(set) var differences: [Difference] = []
    /// Differences that the budget allows.
    public internal(set) var allowed: [Difference] = []
    /// Remarks that are no differences, e.g. that another version of the tool made the package.
    public internal(set) var remarks: [String] = []

    /// The number of compared items of all kinds.
    public var comparisons: Int { compared.reduce(0) { $0 + $1.count } }

    /// e.g. `1 function, 90 calls`
    var summary: String {
        compared.isEmpty
            ? "nothing to convert again" : compared.map { Wording.count($0.count, $0.what) }.joined(separator: ", ")
    }

    mutating func add(_ name: String, _ reason: String) {
        differences.append(Difference(name: name, reason: reason))
    }

    /// Compares two lists element by element.
    /// - Parameter describe: returns the text that has to be equal for two elements.
    mutating func compare<Element>(
        _ name: String, _ what: String, _ found: [Element], _ wanted: [Element], _ describe: (Element) -> String
    ) {
        let (found, wanted) = (found.map(describe), wanted.map(describe))
        guard found != wanted else { return }
        let first = zip(found, wanted).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let index = first ?? min(found.count, wanted.count)
        func side(_ list: [String]) -> String { list.indices.contains(index) ? list[index] : "no such \(what)" }
        let count = found.count == wanted.count ? "" : "; there are \(found.count), expected \(wanted.count)"
        add(name, "\(what) \(index): found \(side(found)), expected \(side(wanted))\(count)")
    }

    mutating func compare(_ name: String, _ what: String, _ found: String, _ wanted: String) {
        if found != wanted { add(name, "\(what) is \(found), expected \(wanted)") }
    }
}
