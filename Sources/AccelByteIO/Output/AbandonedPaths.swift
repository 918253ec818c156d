import AccelPlatform

/// Shows other processes that a temporary entry is in use: a shared lock of the entry itself. It ends with its process,
/// however that ends, and does not depend on process numbers.
enum EntryHold {
    /// Holds the entry at a path.
    /// - Returns: the descriptor, which holds the entry while it is open; -1 if nobody may read the entry, so that nobody can remove
    ///   it either; nil with EAGAIN if another process has taken it for an abandoned one, or with another error.
    static func descriptor(_ path: String) -> CInt? {
        let number = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno == EACCES { return -1 }
            if errno == ENOENT { errno = EAGAIN }
            return nil
        }
        // Not waiting: who has the other lock removes the entry. A file system without locks is no obstacle.
        let isTaken = flock(number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
        if !isTaken, node(number) == Files.node(ofEntry: path) { return number }
        close(number)
        errno = EAGAIN
        return nil
    }

    fileprivate static func node(_ number: CInt) -> Files.Node? {
        var status = stat()
        return fstat(number, &status) == 0 ? Files.Node(status) : nil
    }

    /// Runs `body` if no process holds the entry at a path, and prevents that one begins to.
    /// - Returns: false, also where locks do not tell: on network file systems, where locks may always be granted, and for entries
    ///   of other users.
    fileprivate static func claiming(_ path: String, _ body: () -> Bool) -> Bool {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW))
        var status = stat()
        guard descriptor.number >= 0, fstat(descriptor.number, &status) == 0, Files.Access(status).owner == Files.user,
            cp_is_local(descriptor.number) != 0, flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
        else { return false }
        // A second lock is rejected, or locks mean nothing here.
        let second = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW))
        guard second.number >= 0, node(second.number) == Files.Node(status),
            flock(second.number, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK
        else { return false }
        return withExtendedLifetime(descriptor) { body() }
    }
}

extension TemporaryPaths {
    /// The name of files that are unlinked as soon as they are written (`AtomicFile.unnamed`).
    package static let unnamed = ".accelc-tensor"

    /// Removes the temporary entries of an output whose processes are gone: those that were killed, or stopped by a power failure.
    /// - Parameters:
    ///   - path: the output.
    ///   - kind: recognises outputs that were about to be replaced; without it they stay.
    package static func removeAbandoned(beside path: String, kind: OutputKind? = nil) {
        guard let folder = Files.parentFolder(of: path), let names = try? Files.list(folder) else { return }
        let output = Files.name(of: path)
        for name in names where isSibling(name, of: output) || isSibling(name, of: unnamed) {
            removeIfAbandoned((folder == "/" ? "/" : folder + "/") + name, of: path, kind: kind)
        }
    }

    /// Removes a temporary entry whose process is gone.
    /// - Returns: false for all other entries: those of a process that lives, of another machine, user or program, and of earlier
    ///   versions.
    @discardableResult
    public static func removeIfAbandoned(_ path: String) -> Bool { removeIfAbandoned(path, of: nil, kind: nil) }

    @discardableResult
    private static func removeIfAbandoned(_ path: String, of output: String?, kind: OutputKind?) -> Bool {
        guard let parts = TemporaryName.Parts(Files.name(of: path)), let role = parts.role, parts.isOfThisMachine else {
            return false
        }
        return EntryHold.claiming(path) {
            if role == .replaced {
                // The only copy, where a process was killed between two renames.
                guard let output, let kind, kind.isAsked, Files.kindWithoutFollowing(output) != nil,
                    kind.rejectionReason(for: path, form: Files.kindWithoutFollowing(path)) == nil
                else { return false }
            }
            return (try? Files.removeTree(path)) != nil
        }
    }
}
