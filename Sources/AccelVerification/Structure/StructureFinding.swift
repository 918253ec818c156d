import AccelByteIO

/// What comparing a package with a conversion of the model has found, before any numbers are computed.
public struct StructureFinding: Sendable {
    /// Something of the package that a conversion of the model would have made otherwise.
    public struct Difference: Equatable, Sendable {
        /// Where it is: a function with the label of a call, a tensor, a file, a field of the provenance.
        public let name: String
        /// What is there, and what should be.
        public let reason: String
    }
    /// How many things were compared, by what they are, e.g. `("calls", 90)`.
    public internal(set) var compared: [(what: String, count: Int)] = []
    public internal(set) var differences: [Difference] = []
    /// Differences that the budget allows.
    public internal(set) var allowed: [Difference] = []
    /// What is worth knowing and no difference, e.g. that another version of the tool made the package.
    public internal(set) var remarks: [String] = []

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
    /// - Parameter describe: what two elements have to agree in, in words.
    mutating func compare<Element>(
        _ name: String, _ what: String, _ found: [Element], _ wanted: [Element], _ describe: (Element) -> String
    ) {
        let (found, wanted) = (found.map(describe), wanted.map(describe))
        guard found != wanted else { return }
        let place = zip(found, wanted).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let index = place ?? min(found.count, wanted.count)
        func side(_ list: [String]) -> String { list.indices.contains(index) ? list[index] : "no such \(what)" }
        let count = found.count == wanted.count ? "" : "; there are \(found.count), expected \(wanted.count)"
        add(name, "\(what) \(index): found \(side(found)), expected \(side(wanted))\(count)")
    }

    mutating func compare(_ name: String, _ what: String, _ found: String, _ wanted: String) {
        if found != wanted { add(name, "\(what) is \(found), expected \(wanted)") }
    }
}
