import AccelByteIO

/// The document that a run with `--json` prints for an error, since a program that reads standard output gets one document in any
/// case: `{"error": {"code": ..., "message": ..., "exitStatus": ...}}`.
final class ErrorDocument: Sendable {
    /// `--json` was given, and no document was printed so far.
    private let isDue: Locked<Bool>

    init(isDue: Bool) { self.isDue = Locked(isDue) }

    /// Returns the document of an error as text, once, if it is due; the text of a result makes it undue.
    func take(_ error: any ReportedError) -> String? {
        guard takeTurn() else { return nil }
        let remedy = Remedies.remedy(for: error.diagnostic).map { [JSON.Member("remedy", .string($0))] } ?? []
        guard case .object(let members) = error.json else { return nil }
        return JSON.object([.init("error", .object(members + remedy))]).text(pretty: true)
    }

    /// Returns whether a document is due, which then is no longer.
    @discardableResult func takeTurn() -> Bool {
        isDue.withLock { isDue in
            defer { isDue = false }
            return isDue
        }
    }
}
