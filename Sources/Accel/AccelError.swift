public import AccelByteIO
import AccelPrograms

/// An error of opening or running a model: one sentence for people, and its parts for programs.
public struct AccelError: ReportedError, Equatable {
    /// The kind of an error. The numbers are those of the C interface; later versions may add kinds.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The request is wrong, e.g. a shape that does not fit or a missing input.
        public static let invalid = Code(rawValue: 2)
        /// There is no function, port, file or backend of this name.
        public static let notFound = Code(rawValue: 3)
        /// A file is corrupt.
        public static let corrupt = Code(rawValue: 4)
        /// An internal error of accelc.
        public static let internalFailure = Code(rawValue: 5)
        /// The work was cancelled.
        public static let cancelled = Code(rawValue: 6)
        /// The time limit was over first.
        public static let timedOut = Code(rawValue: 7)
        /// The package is not trusted.
        public static let untrusted = Code(rawValue: 8)
        /// No backend, or not the requested one, supports the model.
        public static let unsupported = Code(rawValue: 9)
        /// Not enough memory.
        public static let memory = Code(rawValue: 10)
        /// Any other failure of a backend.
        public static let backend = Code(rawValue: 11)
        /// The numbers of a model are wrong, or a backend's are not those of the package's probe.
        public static let numerics = Code(rawValue: 12)
        /// A new version of a model lacks what the app uses.
        public static let incompatible = Code(rawValue: 13)
        /// Files cannot be written, or would take more bytes than they may.
        public static let storage = Code(rawValue: 14)
        /// Another call has the session, or another update the model.
        public static let busy = Code(rawValue: 15)
    }

    /// The kind of the error.
    public var code: Code
    /// The problem, e.g. `expected F32[1,4], found F32[1,5]`.
    public var problem: String
    /// The location, e.g. `model[batch=1], input "input_ids"`; empty if the problem names it.
    public var location: String
    /// The needed type, shape, version or number, e.g. `F32[1,4]`; nil if the error is about something else.
    public var expected: String?
    /// The found type, shape, version or number, e.g. `F32[1,5]`; nil if the error is about something else, or nothing is there.
    public var found: String?
    /// Advice, or the name that was probably meant.
    public var hint: String?
    /// The kind of the error of a lower layer, such as `shapes-do-not-fit`; nil if it has none.
    public var reason: Diagnostic.Code?
    /// The failed attempts, if no backend was left.
    public var attempts: [BackendAttempt]

    /// An error with a problem, its location and advice.
    public init(
        _ code: Code, _ problem: String, at location: String = "", expected: String? = nil, found: String? = nil,
        hint: String? = nil, attempts: [BackendAttempt] = []
    ) {
        self.code = code
        self.problem = problem
        self.location = location
        self.expected = expected
        self.found = found
        self.hint = hint
        self.attempts = attempts
    }

    /// An error about another type, shape, version or number than is needed: its problem is `expected F32[1,4], found F32[1,5]`.
    public init(_ code: Code, expected: String, found: String, at location: String = "", hint: String? = nil) {
        self.init(
            code, "expected \(expected), found \(found)", at: location, expected: expected, found: found, hint: hint)
    }

    /// Wraps an error of a lower layer, at a location. An `AccelError` is kept unchanged.
    public init(_ error: any Error, at location: String) {
        switch error {
        case let error as AccelError: self = error
        case let error as TimeLimitError: self.init(.timedOut, error.description, at: location)
        case let error as ShapeError: self.init(.invalid, error.description, at: location)
        case let error as FormatError:
            self.init(.corrupt, error.description, at: location)
            reason = error.code
        case let error as any ReportedError:
            let code: Code =
                switch error.exitStatus {
                case .usage: .invalid
                case .unavailable: .memory
                case .corrupt: .corrupt
                case .interrupted: .cancelled
                default: .backend
                }
            self.init(code, error.description, at: location)
            reason = error.diagnostic.code
        case is CancellationError: self.init(.cancelled, "was cancelled", at: location)
        default: self.init(.backend, "\(error)", at: location)
        }
    }

    public var description: String {
        (location.isEmpty ? "" : "\(location): ") + problem + (hint.map { "; \($0)" } ?? "")
            + attempts.map { "\n  \($0)" }.joined()
    }

    public var diagnostic: Diagnostic {
        Diagnostic(description, code: reason, expected: expected, found: found)
    }

    public var parts: [JSON.Member] {
        let texts = [
            ("problem", reason?.rawValue ?? ""), ("location", location), ("expected", expected ?? ""),
            ("found", found ?? ""), ("hint", hint ?? ""),
        ]
        return texts.filter { !$0.1.isEmpty }.map { JSON.Member($0.0, .string($0.1)) }
    }

    public var exitStatus: ExitStatus {
        switch code {
        case .invalid: .usage
        case .corrupt: .corrupt
        case .notFound, .unsupported, .memory, .backend, .timedOut, .busy, .incompatible, .storage: .unavailable
        case .untrusted: .corrupt
        case .numerics: .exceeded
        case .cancelled: .interrupted
        default: .internalFailure
        }
    }
}
