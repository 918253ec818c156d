/// How a run of the tool ends, as the shell sees it.
public enum ExitStatus: Int32, Sendable {
    case success = 0
    /// Parity, a size limit, or a budget is exceeded.
    case exceeded = 1
    /// The request makes no sense: an unknown option, an unbound dimension.
    case usage = 2
    /// The request makes sense, but something it needs is missing. Never reads as a pass.
    case unavailable = 3
    /// A file is corrupt or hostile.
    case corrupt = 4
    case internalFailure = 5
    case interrupted = 130
}

/// An error that a user reads: one sentence (what, where, what to do) and an exit status.
public protocol ReportedError: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }
}

/// A file does not hold what its format promises.
public struct FormatError: ReportedError, Equatable {
    public enum Place: Equatable, Sendable {
        /// Bytes from the start of the file.
        case offset(UInt64)
        /// A tensor of the file, and the index of an element in row-major order.
        case tensor(String, index: Int?)
        /// A field of a JSON document, e.g. `functions[0].inputs`.
        case field(String)
    }

    public var file: String
    public var place: Place?
    public var reason: String

    public init(file: String, place: Place? = nil, reason: String) {
        self.file = file
        self.place = place
        self.reason = reason
    }

    public var exitStatus: ExitStatus { .corrupt }

    public var description: String {
        switch place {
        case nil: "\(file): \(reason)"
        case .offset(let offset): "\(file), byte \(offset): \(reason)"
        case .tensor(let name, nil): "\(file), tensor \"\(name)\": \(reason)"
        case .tensor(let name, let index?): "\(file), tensor \"\(name)\", element \(index): \(reason)"
        case .field(let path): "\(file), field \(path): \(reason)"
        }
    }
}

/// A request that cannot be carried out as it was made.
public struct RequestError: ReportedError, Equatable {
    public var exitStatus: ExitStatus
    public var description: String

    /// - Parameter status: `.usage` when the request should be worded otherwise, `.unavailable` when something is missing.
    public init(_ sentence: String, status: ExitStatus = .usage) {
        self.description = sentence
        self.exitStatus = status
    }
}

/// "did you mean" for names: the candidate within a third of the name's length in edits, if there is one.
public func nearestName(to name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= longestMisspelling else { return nil }
    let limit = max(1, name.count / 3)
    return candidates.map { (editDistance(name, $0), $0) }.filter { $0.0 <= limit }.min { $0 < $1 }?.1
}

/// Names that are like a name, the most alike first: within a third of its length in edits, or beginning with the same
/// word of three letters or more.
public func nearestNames(to name: String, among candidates: some Sequence<String>) -> [String] {
    guard name.utf8.count <= longestMisspelling else { return [] }
    func word(_ name: String) -> Substring { name.prefix { $0.isLetter } }
    let limit = max(1, name.count / 3)
    return candidates.map { (distance: editDistance(name, $0), name: $0) }
        .filter { $0.distance <= limit || word(name).count >= 3 && word(name) == word($0.name) }
        .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.map(\.name)
}

/// A longer name, which a file may hold, is no slip of the pen; comparing it would take long.
private let longestMisspelling = 256

/// Levenshtein distance in characters.
func editDistance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (i, character) in left.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for j in right.indices {
            let substituted = diagonal + (character == right[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
        }
    }
    return row[right.count]
}
