import AccelPlatform

extension Files {
    /// Who owns a file or folder, and what may be done with it.
    public struct Access: Equatable, Sendable {
        /// The user's number.
        public var owner: UInt32
        /// The nine bits of permission.
        public var mode: UInt16
        public var isWritable: Bool { mode & 0o222 != 0 }
        /// By the group, or by everybody.
        public var isWritableByOthers: Bool { mode & 0o022 != 0 }
        /// Only the user whose rights this process has can decide what is in it.
        public var isOurs: Bool { owner == Files.user && !isWritableByOthers }

        init(_ status: stat) {
            (owner, mode) = (status.st_uid, UInt16(truncatingIfNeeded: status.st_mode & 0o777))
        }
    }

    /// That of what `path` leads to; nil when there is nothing.
    public static func access(of path: String) -> Access? {
        var status = stat()
        return stat(path, &status) == 0 ? Access(status) : nil
    }

    /// The number of the user whose rights this process has.
    public static var user: UInt32 { geteuid() }

    /// Sets the nine bits of permission.
    /// - Returns: false when that is not allowed.
    @discardableResult
    public static func setMode(_ mode: UInt16, of path: String) -> Bool { chmod(path, mode_t(mode)) == 0 }

    /// Removes a folder that has nothing in it.
    /// - Returns: false when it has, or is no folder, or may not be removed.
    @discardableResult
    public static func removeEmptyFolder(_ path: String) -> Bool { rmdir(path) == 0 }
}
