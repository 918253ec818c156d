/// Several errors of one request, which are reported together.
public struct ReportedErrors: ReportedError {
    /// The errors, in the order of the request; at least two.
    public let errors: [any ReportedError]

    /// The exit status of the first error.
    public var exitStatus: ExitStatus { errors[0].exitStatus }
    public var description: String { errors.map(\.description).joined(separator: "\n") }
    public var parts: [JSON.Member] { [.init("errors", .array(errors.map(\.json)))] }
}

extension ReportedError {
    /// The single errors: those of several, else this one.
    package var singles: [any ReportedError] { (self as? ReportedErrors)?.errors ?? [self] }
}

/// Collects the mistakes of one request, so that one run reports all of them.
///
///     var mistakes = Mistakes()
///     let rules = try fields.compactMap { field in try mistakes.collecting { try Rule(field) } }
///     try mistakes.check()
package struct Mistakes {
    private var errors: [any ReportedError]

    package init(_ errors: [any ReportedError] = []) { self.errors = errors }

    /// Reads a part of the request.
    /// - Returns: the part; nil for a mistake, which is kept.
    /// - Throws: errors that are no mistakes of the request.
    @discardableResult
    package mutating func collecting<Part>(_ reading: () throws -> Part) throws -> Part? {
        do {
            return try reading()
        } catch let error as any ReportedError where [.usage, .corrupt].contains(error.exitStatus) {
            errors += error.singles
        }
        return nil
    }

    /// Throws the mistakes: one as it is, several as `ReportedErrors`.
    package func check() throws {
        guard let first = errors.first else { return }
        throw errors.count == 1 ? first : ReportedErrors(errors: errors)
    }
}
