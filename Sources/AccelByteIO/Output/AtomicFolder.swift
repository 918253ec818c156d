/// A folder that appears completely or not at all, as `AtomicFile` does: files are created in a temporary folder beside
/// it; `commit` syncs and renames it. An earlier output of its kind is replaced; without `commit` the folder is
/// removed.
public struct AtomicFolder: ~Copyable {
    /// The temporary folder, in which the files are to be created.
    public var path: String { folder.path }
    private let folder: TemporaryFolder
    private let target: String
    private let kind: OutputKind

    /// Creates the temporary folder.
    /// - Parameter kind: decides, now and in `commit`, whether an existing entry at `path` may be replaced.
    /// - Throws: `RequestError` if an existing entry at `path` is not an earlier output of this kind, or if its parent
    ///   folder
    ///   cannot be written.
    public init(replacing path: String, as kind: OutputKind, mode: UInt16 = 0o777) throws {
        try kind.requireReplaceable(path, by: .folder)
        folder = try TemporaryFolder(beside: path, mode: mode, kind: kind)
        target = Files.trimmingSlashes(path)
        self.kind = kind
    }

    /// Syncs all files of the folder, so that they need not be synced one by one, and publishes the folder under its
    /// name.
    /// - Throws: `RequestError` if the entry at its path is no longer an earlier output of its kind, or if it cannot be
    ///   written.
    public consuming func commit() throws {
        guard Disk.syncTree(path) else {
            throw RequestError("cannot make the folder \(target): \(systemMessage())", status: .unavailable)
        }
        try TemporaryPaths.publish(path, as: target, kind: kind, form: .folder)
        folder.isPublished = true
        Disk.syncFolder(Files.parentFolder(of: target) ?? "/")
    }
}
