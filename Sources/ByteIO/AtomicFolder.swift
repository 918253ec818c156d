#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The same for a folder as `AtomicFile` for a file: files are made in a temporary sibling, `commit` syncs and renames
/// it. An old folder of that name is replaced; without `commit` the temporary folder is removed.
public struct AtomicFolder: ~Copyable {
    /// Where to make the files.
    public var path: String { folder.temporary }
    private let folder: TemporaryFolder

    /// - Throws: `RequestError` when something other than a folder stands at `path`, or the folder above it cannot be
    ///   written.
    public init(replacing path: String, mode: UInt16 = 0o777) throws {
        folder = try TemporaryFolder(replacing: path, mode: mode)
    }

    /// Everything in the folder is synced before it gets its name, all files in one go: members need not be synced one
    /// by one.
    public consuming func commit() throws { try folder.commit() }
}

private final class TemporaryFolder {
    private let path: String
    let temporary: String
    private var finished = false

    init(replacing path: String, mode: UInt16) throws {
        if let kind = Files.kindWithoutFollowing(path), kind != .folder {
            throw RequestError("cannot make the folder \(path): there is \(kind) of that name")
        }
        self.path = Files.trimmingSlashes(path)
        temporary = try TemporaryPaths.sibling(of: path)
        guard TemporaryPaths.making(temporary, { mkdir(temporary, mode_t(mode)) == 0 }) else {
            finished = true
            throw RequestError("cannot make the folder \(path): \(systemMessage())", status: .unavailable)
        }
    }

    deinit {
        guard !finished else { return }
        try? Files.removeTree(temporary)
        TemporaryPaths.remove(temporary)
    }

    func commit() throws {
        guard syncTree(temporary) else { throw failure() }
        // A rename replaces nothing but an empty folder.
        var old: String?
        if Files.kindWithoutFollowing(path) == .folder {
            old = TemporaryPaths.publish(temporary, inPlaceOf: path, aside: try TemporaryPaths.sibling(of: path))
            guard old != nil else { throw failure() }
        } else if !TemporaryPaths.publish(temporary, as: path) {
            throw failure()
        }
        finished = true
        syncFolder(Files.parentFolder(of: path) ?? "/")
        if let old {
            try Files.removeTree(old)
            TemporaryPaths.remove(old)
        }
    }

    private func failure() -> RequestError {
        RequestError("cannot make the folder \(path): \(systemMessage())", status: .unavailable)
    }
}

/// Brings a folder and all that is in it to the disk. Symbolic links are left alone.
/// - Returns: false when a file cannot be brought there, with the reason in errno.
private func syncTree(_ path: String) -> Bool {
    for name in (try? Files.list(path)) ?? [] {
        let member = "\(path)/\(name)"
        switch Files.kindWithoutFollowing(member) {
        case .folder: if !syncTree(member) { return false }
        case .file:
            let descriptor = FileDescriptor(open(member, O_RDONLY | O_CLOEXEC))
            if descriptor.number < 0 || fsync(descriptor.number) != 0 { return false }
        default: break
        }
    }
    syncFolder(path)
    return true
}
