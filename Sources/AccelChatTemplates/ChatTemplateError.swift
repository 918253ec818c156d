public import AccelByteIO

/// An error in a chat template, or one that the template raises about its conversation.
public struct ChatTemplateError: ReportedError, Equatable {
    /// The kind of the error.
    public enum Kind: Equatable, Sendable {
        /// The template is no valid Jinja2, or uses what chat templates may not use.
        case syntax
        /// An operation that the values do not allow.
        case evaluation
        /// The template called `raise_exception`, because it does not support the conversation.
        case raised
        /// The template exceeds a limit of depth, time or size.
        case limit
    }

    /// The name of the template.
    public var template: String
    /// The line in the template, from 1.
    public var line: Int
    /// The kind of the error.
    public var kind: Kind
    /// The problem, in words that follow the location.
    public var reason: String

    /// Creates an error.
    public init(template: String, line: Int, kind: Kind, reason: String) {
        (self.template, self.line, self.kind, self.reason) = (template, line, kind, reason)
    }

    /// A conversation that the template rejects is an error of the request; all others are errors of the template.
    public var exitStatus: ExitStatus { kind == .raised ? .usage : .corrupt }

    public var parts: [JSON.Member] {
        [
            .init("template", .string(template)), .init("line", .integer(Int64(line))),
            .init("reason", .string(reason)),
        ]
    }

    public var description: String { "\(template), line \(line): \(reason)" }
}
