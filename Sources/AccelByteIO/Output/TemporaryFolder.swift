import AccelPlatform

/// A folder of a name that nothing else has; it is removed with its last user, and when the tool is interrupted.
public final class TemporaryFolder {
    public let path: String
    /// It has another name now.
    var isPublished = false

    /// Makes it in the folder in which `path` is, whatever stands at `path`.
    /// - Throws: `RequestError` when that folder cannot be written.
    public init(beside path: String, mode: UInt16 = 0o777) throws {
        let temporary = try TemporaryPaths.sibling(of: path)
        self.path = temporary
        guard TemporaryPaths.making(temporary, { mkdir(temporary, mode_t(mode)) == 0 }) else {
            isPublished = true
            throw RequestError("cannot make the folder \(path): \(systemMessage())", status: .unavailable)
        }
    }

    deinit {
        if !isPublished { TemporaryPaths.discard(path) }
    }
}
