public import AccelByteIO
import AccelPrograms

/// An error of opening a model, or of running it: one sentence for a reader, and its parts for a program.
public struct AccelError: ReportedError, Equatable {
    /// What kind of error it is. Numbers are those of the C interface; later versions may have more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The request has to change: a wrong shape, a missing input.
        public static let invalid = Code(rawValue: 2)
        /// There is nothing of this name.
        public static let notFound = Code(rawValue: 3)
        /// A file is not what it says it is.
        public static let corrupt = Code(rawValue: 4)
        public static let internalFailure = Code(rawValue: 5)
        public static let cancelled = Code(rawValue: 6)
        /// No backend, or not this one, runs such a model.
        public static let unsupported = Code(rawValue: 9)
        /// There is not as much memory.
        public static let memory = Code(rawValue: 10)
        /// A backend failed in a way of its own.
        public static let backend = Code(rawValue: 11)
    }

    public var code: Code
    /// The problem, e.g. `expected F32[1,4], found F32[1,5]`.
    public var problem: String
    /// Where, e.g. `model[batch=1], input "input_ids"`; empty when the problem says it.
    public var location: String
    /// What to do about it, or a name that was probably meant.
    public var hint: String?
    /// What was tried before, when no backend was left.
    public var attempts: [BackendAttempt]

    public init(
        _ code: Code, _ problem: String, at location: String = "", hint: String? = nil, attempts: [BackendAttempt] = []
    ) {
        self.code = code
        self.problem = problem
        self.location = location
        self.hint = hint
        self.attempts = attempts
    }

    /// The error of a layer below, at a location.
    public init(_ error: any Error, at location: String) {
        switch error {
        case let error as AccelError: self = error
        case let error as ShapeError: self.init(.invalid, error.description, at: location)
        case let error as FormatError: self.init(.corrupt, error.description, at: location)
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
        case is CancellationError: self.init(.cancelled, "was cancelled", at: location)
        default: self.init(.backend, "\(error)", at: location)
        }
    }

    public var description: String {
        (location.isEmpty ? "" : "\(location): ") + problem + (hint.map { "; \($0)" } ?? "")
            + attempts.map { "\n  \($0)" }.joined()
    }

    public var exitStatus: ExitStatus {
        switch code {
        case .invalid: .usage
        case .corrupt: .corrupt
        case .notFound, .unsupported, .memory, .backend: .unavailable
        case .cancelled: .interrupted
        default: .internalFailure
        }
    }
}
