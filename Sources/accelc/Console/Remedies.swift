import AccelByteIO
import AccelPrograms

/// What the tool advises: at most one remedy for each code of a diagnostic. Libraries name no option; this table is the only place that
/// translates their codes into options.
enum Remedies {
    /// A remedy: the end of a sentence, in words that follow `; `.
    typealias Remedy = @Sendable (Diagnostic) -> String

    static let table: [Diagnostic.Code: Remedy] = [
        .statesWithoutCache: { _ in "leave --states out" }
    ]

    /// Returns the remedy for a diagnostic; nil for none.
    static func remedy(for diagnostic: Diagnostic) -> String? {
        diagnostic.code.flatMap { table[$0] }.map { $0(diagnostic) }
    }

    /// Returns the sentence of a diagnostic with its remedy.
    static func sentence(_ diagnostic: Diagnostic) -> String {
        diagnostic.text + (remedy(for: diagnostic).map { "; \($0)" } ?? "")
    }
}
