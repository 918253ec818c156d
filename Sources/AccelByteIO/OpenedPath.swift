import AccelPlatform

/// A file or folder that is kept open, so that it stays the same entry even if its name changes. Its location comes
/// from the system for the open entry, never from the text of a path: `trusted/link/../q` depends on the target of
/// `link`.
public final class OpenedPath: @unchecked Sendable {
    /// The given path.
    public let path: String
    /// The absolute path without links, `.`, `..` and repeated slashes, in the spelling of the file system.
    public let realPath: String
    /// A path to the open entry, valid while it is open.
    public let lastingPath: String
    private let descriptor: FileDescriptor

    /// Opens an entry.
    /// - Throws: `RequestError` (unavailable) if it cannot be opened, or is moved at the same time.
    public init(_ path: String) throws {
        // O_NONBLOCK, because opening a pipe without a writer would wait.
        descriptor = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
        var status = stat()
        guard descriptor.number >= 0, fstat(descriptor.number, &status) == 0 else {
            let message = systemMessage()
            throw RequestError(
                Files.brokenLink(path) ?? "cannot open \(path): \(message)\(Files.suggestion(for: path))",
                status: .unavailable)
        }
        let identity = FileIdentity(status)
        func leadsHere(_ other: String) -> Bool {
            let found = Files.identity(of: other)
            return found?.device == identity.device && found?.inode == identity.inode
        }
        guard let real = Self.path(of: descriptor.number) ?? Self.resolved(path), leadsHere(real) else {
            throw RequestError("\(path) was moved while it was opened; try again", status: .unavailable)
        }
        let lasting = Self.lastingPath(of: descriptor.number, identity)
        self.path = path
        realPath = real
        lastingPath = leadsHere(lasting) ? lasting : real
    }

    /// The kind of the open entry.
    public var kind: Files.Kind? { Files.kind(of: lastingPath) }

    /// Returns the system's path of an open file; nil if the system has none.
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

    /// Returns the path with every component resolved by the C library.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func string(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
