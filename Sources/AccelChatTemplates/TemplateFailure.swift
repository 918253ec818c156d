/// An error within a template, before its line is known.
struct TemplateFailure: Error {
    let kind: ChatTemplateError.Kind
    let reason: String
    /// The line; nil for the line that is being evaluated.
    var line: Int?

    init(_ kind: ChatTemplateError.Kind, _ reason: String, line: Int? = nil) {
        (self.kind, self.reason, self.line) = (kind, reason, line)
    }

    /// A value of a type that an operation does not take.
    static func type(_ reason: String) -> TemplateFailure { TemplateFailure(.evaluation, reason) }
    /// A value that an operation does not take.
    static func value(_ reason: String) -> TemplateFailure { TemplateFailure(.evaluation, reason) }
    /// A number beyond 64 bits.
    static func overflow(_ reason: String = "an integer exceeds 64 bits") -> TemplateFailure {
        TemplateFailure(.evaluation, reason)
    }
}
