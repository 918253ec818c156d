/// The same for a folder as `AtomicFile` for a file: files are made in a temporary sibling, `commit` syncs and renames
/// it. An earlier output of its kind is replaced; without `commit` the temporary folder is removed.
public struct AtomicFolder: ~Copyable {
    /// Where to make the files.
    public var path: String { folder.path }
    private let folder: TemporaryFolder
    private let target: String
    private let kind: OutputKind

    /// - Parameter kind: decides, now and in `commit`, whether what stands at `path` may be replaced.
    /// - Throws: `RequestError` when something other than an earlier output of this kind stands at `path`, or the folder above it
    ///   cannot be written.
    public init(replacing path: String, as kind: OutputKind, mode: UInt16 = 0o777) throws {
        if let reason = kind.objection(to: path, form: .folder) { throw kind.refusal(of: path, reason) }
        folder = try TemporaryFolder(beside: path, mode: mode)
        target = Files.trimmingSlashes(path)
        self.kind = kind
    }

    /// Everything in the folder is synced before it gets its name, all files in one go: members need not be synced one
    /// by one.
    /// - Throws: `RequestError` when something other than an earlier output of its kind stands there by now, or it cannot be
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
