/// The exit status of the tool.
public enum ExitStatus: Int32, CaseIterable, Sendable {
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

    /// The name of the status, as errors in JSON have it.
    public var name: String {
        switch self {
        case .success: "success"
        case .exceeded: "exceeded"
        case .usage: "usage"
        case .unavailable: "unavailable"
        case .corrupt: "corrupt"
        case .internalFailure: "internal"
        case .interrupted: "interrupted"
        }
    }
}

/// An error for the user: one sentence of what and where, and an exit status.
public protocol ReportedError: Error, CustomStringConvertible {
    /// The exit status of a run that fails with this error.
    var exitStatus: ExitStatus { get }
    /// The error as data. Its code is what the tool looks up a remedy by.
    var diagnostic: Diagnostic { get }
    /// The parts of the error for programs: its location, what was expected and found. Empty if the sentence has no parts.
    var parts: [JSON.Member] { get }
}

extension ReportedError {
    public var diagnostic: Diagnostic { Diagnostic(description) }
    public var parts: [JSON.Member] { diagnostic.parts }

    /// The error for programs: `code` (the name of the exit status), `message`, the parts, and `exitStatus`.
    public var json: JSON {
        .object(
            [.init("code", .string(exitStatus.name)), .init("message", .string(description))] + parts
                + [.init("exitStatus", .integer(Int64(exitStatus.rawValue)))])
    }
}

/// An error about the content of a file, with its location.
public struct FormatError: ReportedError, Equatable {
    /// A location in a file.
    public enum Location: Equatable, Sendable {
        /// A byte offset from the start of the file.
        case offset(UInt64)
        /// A line of a text, and the column in it, in bytes; both count from 1.
        case line(Int, column: Int)
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
    /// The kind, for programs and for the tool's remedy; nil where they need none.
    public var code: Diagnostic.Code?
    /// The names or values that are possible instead.
    public var candidates: [String]
    /// `.usage` for a file that is part of the request, such as a budget: then the request has to change; `.unavailable` where a part of
    /// it is missing.
    public var exitStatus = ExitStatus.corrupt

    /// Creates an error.
    public init(
        file: String, location: Location? = nil, reason: String, code: Diagnostic.Code? = nil, candidates: [String] = []
    ) {
        self.file = file
        self.location = location
        self.reason = reason
        self.code = code
        self.candidates = candidates
    }

    public var diagnostic: Diagnostic { Diagnostic(description, code: code, candidates: candidates) }

    /// Reads a file that the user wrote for the request, such as a recipe: errors in it are errors of the request.
    public static func ofRequest<Result>(_ reading: () throws -> Result) throws -> Result {
        do {
            return try reading()
        } catch let error as any ReportedError {
            throw ofRequest(error)
        }
    }

    private static func ofRequest(_ error: any ReportedError) -> any ReportedError {
        if let several = error as? ReportedErrors { return ReportedErrors(errors: several.errors.map(ofRequest)) }
        guard var error = error as? FormatError else { return error }
        error.exitStatus = .usage
        return error
    }

    public var parts: [JSON.Member] {
        let place: [JSON.Member] =
            switch location {
            case nil: []
            case .offset(let offset): [.init("offset", .integer(Int64(clamping: offset)))]
            case .line(let line, let column):
                [.init("line", .integer(Int64(line))), .init("column", .integer(Int64(column)))]
            case .tensor(let name, let index):
                [.init("tensor", .string(name))] + (index.map { [.init("element", .integer(Int64($0)))] } ?? [])
            case .field(let path): [.init("field", .string(path))]
            }
        return [.init("file", .string(file))] + place + [.init("reason", .string(reason))] + diagnostic.parts
    }

    public var description: String {
        switch location {
        case nil: "\(file): \(reason)"
        case .offset(let offset): "\(file), byte \(offset): \(reason)"
        case .line(let line, let column): "\(file), line \(line), column \(column): \(reason)"
        case .tensor(let name, nil): "\(file), tensor \"\(name)\": \(reason)"
        case .tensor(let name, let index?): "\(file), tensor \"\(name)\", element \(index): \(reason)"
        case .field(let path): "\(file), field \(path): \(reason)"
        }
    }
}

/// An error about a request that cannot be carried out.
public struct RequestError: ReportedError, Equatable {
    public var exitStatus: ExitStatus
    public var diagnostic: Diagnostic
    public var description: String { diagnostic.text }

    /// Creates an error.
    /// - Parameters:
    ///   - status: `.usage` if the request has to change, `.unavailable` if something is missing.
    ///   - code: the kind, for programs and for the tool's remedy.
    ///   - candidates: the names or values that are possible instead.
    public init(
        _ sentence: String, status: ExitStatus = .usage, code: Diagnostic.Code? = nil, candidates: [String] = []
    ) {
        self.init(Diagnostic(sentence, code: code, candidates: candidates), status: status)
    }

    /// Creates an error of a diagnostic.
    public init(_ diagnostic: Diagnostic, status: ExitStatus = .usage) {
        self.diagnostic = diagnostic
        self.exitStatus = status
    }
}
