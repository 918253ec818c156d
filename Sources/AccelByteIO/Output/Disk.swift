import AccelPlatform

/// The calls by which files get to the disk and get their names, in one place, so that tests can see their order.
enum Disk {
    enum Event: Sendable {
        /// Bytes of a file were written.
        case written(String)
        /// A file's bytes, or a folder's names, are on the disk now.
        case synced(String)
        /// It is about to be decided whether `path` may be replaced.
        case deciding(path: String)
        /// The decision was that it may; it is about to be.
        case publishing(temporary: String, path: String)
        case published(path: String)
    }

    /// Gets every event of this thread; for tests.
    @TaskLocal static var observer: (@Sendable (Event) -> Void)?

    /// Brings a file or folder to the disk.
    /// - Returns: false when the system reports an error, which `errno` tells.
    static func sync(_ descriptor: FileDescriptor, _ path: String) -> Bool {
        guard fsync(descriptor.number) == 0 else { return false }
        observer?(.synced(path))
        return true
    }

    /// Makes the renames in a folder last. Some file systems cannot sync a folder: that is no error, they have happened.
    static func syncFolder(_ path: String) {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
        if descriptor.number >= 0 { _ = sync(descriptor, path) }
    }

    /// Brings a folder and all that is in it to the disk. Symbolic links are left alone.
    /// - Returns: false when a file cannot be brought there, with the reason in errno.
    static func syncTree(_ path: String) -> Bool {
        for name in (try? Files.list(path)) ?? [] {
            let member = "\(path)/\(name)"
            switch Files.kindWithoutFollowing(member) {
            case .folder: if !syncTree(member) { return false }
            case .file:
                let descriptor = FileDescriptor(open(member, O_RDONLY | O_CLOEXEC))
                if descriptor.number < 0 || !sync(descriptor, member) { return false }
            default: break
            }
        }
        syncFolder(path)
        return true
    }

    /// Gives `temporary` the name `path`, which nothing may have.
    /// - Returns: false with the reason in errno; EEXIST when something has that name.
    static func renameExclusively(_ temporary: String, _ path: String) -> Bool {
        if cp_rename_exclusively(temporary, path) == 0 { return true }
        guard errno != EEXIST else { return false }
        // Not every file system can: then there is a moment between this look and the rename.
        guard Files.kindWithoutFollowing(path) == nil else {
            errno = EEXIST
            return false
        }
        return rename(temporary, path) == 0
    }
}
