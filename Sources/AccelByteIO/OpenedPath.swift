import AccelPlatform

/// A file or folder that is held open: it stays the same one, whatever becomes of its names meanwhile. Where it lies is
/// asked of the system for what has been opened, never worked out from the words of a path: `trusted/link/../q` lies
/// where `link` leads.
public final class OpenedPath: @unchecked Sendable {
    /// As it was given.
    public let path: String
    /// Absolute, without links, `.`, `..` and doubled slashes, in the spelling that the file system has.
    public let realPath: String
    /// Leads to what is held open, as long as it is.
    public let lastingPath: String
    private let descriptor: FileDescriptor

    /// - Throws: `RequestError` (unavailable) when nothing can be opened there, or it is moved just now.
    public init(_ path: String) throws {
        // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        descriptor = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
        var status = stat()
        guard descriptor.number >= 0, fstat(descriptor.number, &status) == 0 else {
            throw RequestError("cannot open \(path): \(systemMessage())", status: .unavailable)
        }
        let identity = FileIdentity(status)
        func leadsHere(_ other: String) -> Bool {
            let found = Files.identity(of: other)
            return found?.device == identity.device && found?.inode == identity.inode
        }
        guard let real = Self.path(of: descriptor.number) ?? Self.resolved(path), leadsHere(real) else {
            throw RequestError("\(path) is moved while it is opened; try again", status: .unavailable)
        }
        let lasting = Self.lastingPath(of: descriptor.number, identity)
        self.path = path
        realPath = real
        lastingPath = leadsHere(lasting) ? lasting : real
    }

    public var kind: Files.Kind? { Files.kind(of: lastingPath) }

    /// The path by which the system knows an open file; nil where it does not tell.
    private static func path(of descriptor: Int32) -> String? {
        #if canImport(Darwin)
            var buffer = [CChar](repeating: 0, count: Int(MAXPATHLEN))
            return fcntl(descriptor, F_GETPATH, &buffer) == 0 ? string(buffer) : nil
        #else
            var buffer = [CChar](repeating: 0, count: 1 << 16)
            let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count - 1)
            return count > 0 && buffer[0] == CChar(UInt8(ascii: "/")) ? string(buffer) : nil
        #endif
    }

    private static func lastingPath(of descriptor: Int32, _ identity: FileIdentity) -> String {
        #if canImport(Darwin)
            "/.vol/\(identity.device)/\(identity.inode)"
        #else
            "/proc/self/fd/\(descriptor)"
        #endif
    }

    /// Every component resolved by the C library.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func string(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
