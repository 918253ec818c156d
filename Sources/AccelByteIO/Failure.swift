/// The exit status of the tool.
public enum ExitStatus: Int32, Sendable {
    /// The run did what was asked.
    case success = 0
    /// A parity limit, a size limit or an error budget is exceeded.
    case exceeded = 1
    /// The request is not valid: an unknown option, an unbound dimension.
    case usage = 2
    /// The request is valid, but something that it needs is missing. It never counts as success.
    case unavailable = 3
    /// A file is corrupt or hostile.
    case corrupt = 4
    /// An internal error: a bug in accelc.
    case internalFailure = 5
    /// The run was ended by Ctrl-C: 128 plus the number of SIGINT.
    case interrupted = 130
}

/// An error for the user: one sentence (what, where, what to do), and an exit status.
public protocol ReportedError: Error, CustomStringConvertible {
    /// The exit status of a run that fails with this error.
    var exitStatus: ExitStatus { get }
}

/// An error about the content of a file, with its location.
public struct FormatError: ReportedError, Equatable {
    /// A location in a file.
    public enum Location: Equatable, Sendable {
        /// A byte offset from the start of the file.
        case offset(UInt64)
        /// A tensor of the file, and the row-major index of an element.
        case tensor(String, index: Int?)
        /// A field of a JSON document, such as `functions[0].inputs`.
        case field(String)
    }

    /// The path of the file.
    public var file: String
    /// The location in the file; nil for the file as a whole.
    public var location: Location?
    /// The problem, in words that follow the location.
    public var reason: String

    /// Creates an error.
    public init(file: String, location: Location? = nil, reason: String) {
        self.file = file
        self.location = location
        self.reason = reason
    }

    public var exitStatus: ExitStatus { .corrupt }

    public var description: String {
        switch location {
        case nil: "\(file): \(reason)"
        case .offset(let offset): "\(file), byte \(offset): \(reason)"
        case .tensor(let name, nil): "\(file), tensor \"\(name)\": \(reason)"
        case .tensor(let name, let index?): "\(file), tensor \"\(name)\", element \(index): \(reason)"
        case .field(let path): "\(file), field \(path): \(reason)"
        }
    }
}

/// An error about a request that cannot be carried out.
public struct RequestError: ReportedError, Equatable {
    public var exitStatus: ExitStatus
    public var description: String

    /// Creates an error.
    /// - Parameter status: `.usage` if the request has to change, `.unavailable` if something is missing.
    public init(_ sentence: String, status: ExitStatus = .usage) {
        self.description = sentence
        self.exitStatus = status
    }
}

/// Returns a suggestion for a misspelled name: the most similar candidate, within edits of a third of the name's
/// length.
public func nearestName(to name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= longestMisspelling else { return nil }
    let limit = max(1, name.count / 3)
    return candidates.map { (editDistance(name, $0), $0) }.filter { $0.0 <= limit }.min { $0 < $1 }?.1
}

/// Returns candidates similar to a name, the most similar first: within edits of a third of its length, or with the
/// same first word of at least three letters.
public func nearestNames(to name: String, among candidates: some Sequence<String>) -> [String] {
    guard name.utf8.count <= longestMisspelling else { return [] }
    func word(_ name: String) -> Substring { name.prefix { $0.isLetter } }
    let limit = max(1, name.count / 3)
    return candidates.map { (distance: editDistance(name, $0), name: $0) }
        .filter { $0.distance <= limit || word(name).count >= 3 && word(name) == word($0.name) }
        .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.map(\.name)
}

/// Longer names, which may come from a file, are not compared, because that would take long.
private let longestMisspelling = 256

/// Returns the Levenshtein distance in characters.
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
