import AccelPlatform

extension Files {
    /// The owner and the permissions of a file or folder.
    public struct Access: Equatable, Sendable {
        /// The user identifier of the owner.
        public var owner: UInt32
        /// The nine permission bits.
        public var mode: UInt16
        /// Somebody may write to it.
        public var isWritable: Bool { mode & 0o222 != 0 }
        /// The group or everybody may write to it.
        public var isWritableByOthers: Bool { mode & 0o022 != 0 }
        /// Only this process's user can write to it.
        public var isOurs: Bool { owner == Files.user && !isWritableByOthers }

        init(_ status: stat) {
            (owner, mode) = (status.st_uid, UInt16(truncatingIfNeeded: status.st_mode & 0o777))
        }
    }

    /// Returns the access of a file or folder, links followed; nil if there is none.
    public static func access(of path: String) -> Access? {
        var status = stat()
        return stat(path, &status) == 0 ? Access(status) : nil
    }

    /// The effective user identifier of this process.
    public static var user: UInt32 { geteuid() }

    /// Whether this process may make entries in a folder; `errno` says why not.
    static func mayWrite(in folder: String) -> Bool { faccessat(AT_FDCWD, "\(folder)/.", W_OK | X_OK, AT_EACCESS) == 0 }

    /// Returns whether this process may make entries in a folder, or make the folder where there is none.
    public static func mayWrite(inFutureFolder path: String) -> Bool {
        var existing = path
        while kind(of: existing) == nil {
            guard let parent = parentFolder(of: existing), parent != existing else { return false }
            existing = parent
        }
        return mayWrite(in: existing)
    }

    /// Sets the nine permission bits.
    /// - Returns: False if that is not allowed.
    @discardableResult
    public static func setMode(_ mode: UInt16, of path: String) -> Bool { chmod(path, mode_t(mode)) == 0 }

    /// Removes an empty folder.
    /// - Returns: False if it is not empty or not a folder, or if that is not allowed.
    @discardableResult
    public static func removeEmptyFolder(_ path: String) -> Bool { rmdir(path) == 0 }
}
