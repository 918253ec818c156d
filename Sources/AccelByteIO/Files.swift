import AccelPlatform

/// The file system, as far as the tool looks at it.
public enum Files {
    /// What stands at a path.
    public enum Kind: Sendable, CustomStringConvertible {
        case file, folder, pipe, socket, device, link, other

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

    /// What `path` leads to, nil when there is nothing (or a broken link).
    public static func kind(of path: String) -> Kind? {
        var status = stat()
        return stat(path, &status) == 0 ? Kind(mode: status.st_mode) : nil
    }

    /// The same, with a symbolic link not followed.
    public static func kindWithoutFollowing(_ path: String) -> Kind? {
        var status = stat()
        return lstat(path, &status) == 0 ? Kind(mode: status.st_mode) : nil
    }

    /// What names a file or folder, whatever its paths: device and inode.
    public struct Node: Hashable, Sendable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// What `path` leads to; nil when there is nothing.
    public static func node(of path: String) -> Node? {
        var status = stat()
        return stat(path, &status) == 0 ? Node(status) : nil
    }

    /// The same, with a symbolic link not followed.
    static func node(ofEntry path: String) -> Node? {
        var status = stat()
        return lstat(path, &status) == 0 ? Node(status) : nil
    }

    /// The path from the root of the file system, without `.` parts and doubled slashes. Links stay as they are, and so does `..`,
    /// which may lead out of one.
    public static func absolutePath(of path: String) -> String {
        var folder = ""
        if !path.hasPrefix("/"), let buffer = getcwd(nil, 0) {
            folder = String(cString: buffer) + "/"
            free(buffer)
        }
        let parts = (folder + path).split(separator: "/").filter { $0 != "." }
        return "/" + parts.joined(separator: "/")
    }

    /// The path from the root without links, `.` and `..`; nil when there is nothing.
    public static func realPath(of path: String) -> String? {
        guard let buffer = realpath(path, nil) else { return nil }
        defer { free(buffer) }
        return String(cString: buffer)
    }

    /// What tells whether the file at `path` has changed; nil when there is no file.
    public static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        return stat(path, &status) == 0 ? FileIdentity(status) : nil
    }

    /// How many names (hard links) a file has, where it may be written through each of them; 1 for any other file.
    public static func writableNames(of path: String) -> Int {
        var status = stat()
        guard stat(path, &status) == 0, Kind(mode: status.st_mode) == .file, status.st_mode & 0o222 != 0 else {
            return 1
        }
        return max(1, Int(clamping: status.st_nlink))
    }

    /// The names in a folder, sorted, without `.` and `..`.
    public static func list(_ folder: String) throws(RequestError) -> [String] {
        guard let stream = opendir(folder) else {
            throw RequestError("cannot list \(folder): \(systemMessage())", status: .unavailable)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // d_name begins inside of the record and ends with its NUL; the imported tuple's size is only a bound.
            let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0
            let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes a folder and those above it that are missing, each with `mode`.
    public static func makeFolder(_ path: String, mode: UInt16 = 0o777) throws(RequestError) {
        if mkdir(path, mode_t(mode)) == 0 || kind(of: path) == .folder { return }
        let number = errno
        if number == ENOENT, let parent = parentFolder(of: path), parent != path {
            try makeFolder(parent, mode: mode)
            if mkdir(path, mode_t(mode)) == 0 || kind(of: path) == .folder { return }
        }
        throw RequestError("cannot make the folder \(path): \(systemMessage(number))", status: .unavailable)
    }

    /// Removes a file, or a folder with all that is in it. Symbolic links are removed, not followed. What is already
    /// gone is no error.
    public static func removeTree(_ path: String) throws(RequestError) {
        if kindWithoutFollowing(path) == .folder {
            for name in try list(path) { try removeTree("\(path)/\(name)") }
            if rmdir(path) == 0 || errno == ENOENT { return }
        } else if unlink(path) == 0 || errno == ENOENT {
            return
        }
        throw RequestError("cannot remove \(path): \(systemMessage())", status: .unavailable)
    }

    /// The path of the folder that `path` stands in: `.` for a plain name, nil for the root.
    public static func parentFolder(of path: String) -> String? {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed.isEmpty ? nil : "." }
        let parent = trimmingSlashes(String(trimmed[..<slash]))
        return parent.isEmpty ? "/" : parent
    }

    /// The last part of a path.
    public static func name(of path: String) -> String {
        let trimmed = trimmingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed }
        return String(trimmed[trimmed.utf8.index(after: slash)...])
    }

    /// `path` without `/` at its end.
    package static func trimmingSlashes(_ path: String) -> String {
        var view = path[...]
        while view.utf8.last == UInt8(ascii: "/") { view = view.dropLast() }
        return String(view)
    }
}
