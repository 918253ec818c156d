import AccelPlatform

/// Queries and operations on the file system.
public enum Files {
    /// The kind of a file system entry.
    public enum Kind: Sendable, CustomStringConvertible {
        /// A regular file.
        case file
        /// A folder.
        case folder
        /// A named pipe.
        case pipe
        /// A socket.
        case socket
        /// A character or block device.
        case device
        /// A symbolic link.
        case link
        /// Anything else.
        case other

        init(mode: mode_t) {
            switch mode & S_IFMT {
            case S_IFREG: self = .file
            case S_IFDIR: self = .folder
            case S_IFIFO: self = .pipe
            case S_IFSOCK: self = .socket
            case S_IFCHR, S_IFBLK: self = .device
            case S_IFLNK: self = .link
            default: self = .other
            }
        }

        public var description: String {
            switch self {
            case .file: "a regular file"
            case .folder: "a folder"
            case .pipe: "a pipe"
            case .socket: "a socket"
            case .device: "a device"
            case .link: "a symbolic link"
            case .other: "something that is neither file nor folder"
            }
        }
    }

    /// Returns the kind of the entry at `path`, links followed; nil if there is none.
    public static func kind(of path: String) -> Kind? {
        var status = stat()
        return stat(path, &status) == 0 ? Kind(mode: status.st_mode) : nil
    }

    /// Returns the kind of the entry at `path` itself, links not followed; nil if there is none.
    public static func kindWithoutFollowing(_ path: String) -> Kind? {
        var status = stat()
        return lstat(path, &status) == 0 ? Kind(mode: status.st_mode) : nil
    }

    /// The identity of a file or folder, independent of its path: device and inode.
    public struct Node: Hashable, Sendable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// Returns the identity of the entry at `path`, links followed; nil if there is none.
    public static func node(of path: String) -> Node? {
        var status = stat()
        return stat(path, &status) == 0 ? Node(status) : nil
    }

    /// Returns the identity of the entry at `path` itself, links not followed; nil if there is none.
    static func node(ofEntry path: String) -> Node? {
        var status = stat()
        return lstat(path, &status) == 0 ? Node(status) : nil
    }

    /// Returns the absolute path without `.` components and repeated slashes. Links and `..` are kept, because `..`
    /// after a link depends on the link's target.
    public static func absolutePath(of path: String) -> String {
        var folder = ""
        if !path.hasPrefix("/"), let buffer = getcwd(nil, 0) {
            folder = String(cString: buffer) + "/"
            free(buffer)
        }
        let parts = (folder + path).split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    /// Returns the absolute path without links, `.` and `..`; nil if the path does not exist.
    public static func realPath(of path: String) -> String? {
        guard let buffer = realpath(path, nil) else { return nil }
        defer { free(buffer) }
        return String(cString: buffer)
    }

    /// Returns the sentence about a symbolic link, at `path` or above it, that leads to nothing; nil if there is none.
    package static func brokenLink(_ path: String) -> String? {
        var (entry, status) = (path, stat())
        while stat(entry, &status) != 0 {
            let number = errno
            if number == ELOOP, let target = target(ofLink: entry) {
                return "\(entry) is a link to \(target), and the links lead in a circle"
            }
            if number == ENOENT, let target = target(ofLink: entry) {
                var last = target
                // No more than the system follows.
                for _ in 0..<40 { last = self.target(ofLink: last) ?? last }
                return "\(entry) is a link to \(last), which does not exist"
            }
            guard let parent = parentFolder(of: entry), parent != entry else { return nil }
            entry = parent
        }
        return nil
    }

    /// Returns the path that a symbolic link leads to; nil if `path` is no link.
    private static func target(ofLink path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 1 << 12)
        let count = readlink(trimmingSlashes(path), &buffer, buffer.count)
        guard count > 0 else { return nil }
        let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard !target.hasPrefix("/"), let folder = parentFolder(of: path), folder != "." else { return target }
        return folder == "/" ? "/\(target)" : "\(folder)/\(target)"
    }

    /// Returns the identity that shows whether a file has changed; nil if there is no file.
    public static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        return stat(path, &status) == 0 ? FileIdentity(status) : nil
    }

    /// Returns the number of hard links of a writable file; 1 for any other file.
    public static func writableNames(of path: String) -> Int {
        var status = stat()
        guard stat(path, &status) == 0, Kind(mode: status.st_mode) == .file, status.st_mode & 0o222 != 0 else {
            return 1
        }
        return max(1, Int(clamping: status.st_nlink))
    }

    /// Returns the names in a folder, sorted, without `.` and `..`.
    public static func list(_ folder: String) throws(RequestError) -> [String] {
        guard let stream = opendir(folder) else {
            throw RequestError("cannot list \(folder): \(systemMessage())", status: .unavailable)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // d_name starts within the record and ends with its NUL; the size of the imported tuple is only a bound.
            let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0
            let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Creates a folder and its missing parents, each with `mode`. A folder with a temporary name is not created: it was
    /// made before what belongs into it, so where it is missing, an interruption has removed it, and it stays removed.
    public static func makeFolder(_ path: String, mode: UInt16 = 0o777) throws(RequestError) {
        let isTemporary = TemporaryPaths.start(ofSibling: name(of: path)) != nil
        // Taken at once: the questions that follow set `errno`, too.
        func failure() -> Int32? {
            mkdir(path, mode_t(mode)) == 0 ? nil : errno
        }
        guard var number = isTemporary ? ENOENT : failure(), kind(of: path) != .folder else { return }
        if number == ENOENT, !isTemporary, let parent = parentFolder(of: path), parent != path {
            try makeFolder(parent, mode: mode)
            guard let second = failure(), kind(of: path) != .folder else { return }
            number = second
        }
        throw RequestError("cannot make the folder \(path): \(systemMessage(number))", status: .unavailable)
    }

    /// Removes a file, or a folder with its content. Symbolic links are removed, not followed. Missing entries are not
    /// an error.
    public static func removeTree(_ path: String) throws(RequestError) {
        if kindWithoutFollowing(path) == .folder {
            do {
                for name in try list(path) { try removeTree("\(path)/\(name)") }
            } catch  where kindWithoutFollowing(path) == nil {
                // Another process has removed the rest.
                return
            }
            if rmdir(path) == 0 || errno == ENOENT { return }
        } else if unlink(path) == 0 || errno == ENOENT {
            return
        }
        throw RequestError("cannot remove \(path): \(systemMessage())", status: .unavailable)
    }

    /// Returns the bytes of a file, or of all files in a folder and its folders, without what links lead to.
    package static func byteCount(ofTree path: String) throws(RequestError) -> Int {
        guard kindWithoutFollowing(path) == .folder else {
            return kindWithoutFollowing(path) == .file ? identity(of: path).map { Int(clamping: $0.size) } ?? 0 : 0
        }
        var count = 0
        for name in try list(path) { count += try byteCount(ofTree: "\(path)/\(name)") }
        return count
    }

    /// Returns the folder of `path`: `.` for a plain name, nil for the root.
    public static func parentFolder(of path: String) -> String? {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed.isEmpty ? nil : "." }
        let parent = trimmingSlashes(String(trimmed[..<slash]))
        return parent.isEmpty ? "/" : parent
    }

    /// Returns the last component of a path.
    public static func name(of path: String) -> String {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed }
        return String(trimmed[trimmed.utf8.index(after: slash)...])
    }

    /// Returns `path` without trailing slashes.
    package static func trimmingSlashes(_ path: String) -> String {
        var view = path[...]
        while view.utf8.last == UInt8(ascii: "/") { view = view.dropLast() }
        return String(view)
    }
}
