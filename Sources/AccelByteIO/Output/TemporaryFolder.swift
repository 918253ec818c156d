import AccelPlatform

/// A folder with a unique name, which is removed with its last reference, and when the tool is interrupted.
public final class TemporaryFolder {
    /// The path of the folder.
    public let path: String
    /// It was renamed, so it is not removed.
    var isPublished = false
    /// Open until the folder is published or removed.
    private let hold: FileDescriptor

    /// Creates the folder beside `path`, which may exist or not.
    /// - Throws: `RequestError` if the parent folder cannot be written.
    public convenience init(beside path: String, mode: UInt16 = 0o777) throws {
        try self.init(beside: path, mode: mode, kind: nil)
    }

    /// - Parameter kind: that of the output at `path`, for the removal of what killed processes left.
    init(beside path: String, mode: UInt16, kind: OutputKind?) throws {
        TemporaryPaths.removeAbandoned(beside: path, kind: kind)
        let entry = try TemporaryPaths.entry(beside: path) { temporary in
            mkdir(temporary, mode_t(mode)) == 0 ? true : nil
        }
        guard let entry else {
            throw RequestError(
                "cannot make the folder \(path): \(TemporaryPaths.failure(beside: path))", status: .unavailable)
        }
        self.path = entry.path
        hold = FileDescriptor(entry.hold)
    }

    /// Renames the folder to `path`, unless there is an entry of that name.
    /// - Parameter isSynced: the content and the name are on the disk when the function returns.
    /// - Returns: False if there is one; it stays, and this folder will be removed.
    /// - Throws: `RequestError` if a system call fails.
    public func publish(asNew path: String, isSynced: Bool = false) throws(RequestError) -> Bool {
        guard !isSynced || Disk.syncTree(self.path) else {
            throw RequestError("cannot make the folder \(path): \(systemMessage())", status: .unavailable)
        }
        isPublished = try TemporaryPaths.publish(self.path, asNew: path)
        if isSynced { Disk.syncFolder(Files.parentFolder(of: path) ?? "/") }
        return isPublished
    }

    deinit {
        if !isPublished { TemporaryPaths.discard(path) }
    }
}
