import AccelPlatform

/// A regular file, mapped read-only. Pages are read when they are accessed; nothing is copied.
///
/// Access to a page that another process has truncated raises SIGBUS. The command line tool then ends with an error
/// from `LostPages`; a library does not handle signals.
public final class MappedFile: @unchecked Sendable {
    /// The path that was opened.
    public let path: String
    /// The identity of the mapped file.
    public let identity: FileIdentity
    /// The owner and permissions of the mapped file when it was opened.
    public let access: Files.Access
    private let memory: UnsafeRawPointer?

    /// Maps a file.
    /// - Parameter followsLink: allows `path` to be a symbolic link.
    /// - Throws: `FormatError` if `path` is a folder, pipe or device; `RequestError` (unavailable) if it cannot be
    ///   opened.
    public init(_ path: String, followsLink: Bool = true) throws {
        let file = try OpenedFile(path, followsLink: followsLink)
        self.path = path
        (identity, access) = (file.identity, file.access)
        guard let size = Int(exactly: identity.size), size > 0 else {
            memory = nil
            return
        }
        guard let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, file.descriptor.number, 0), address != MAP_FAILED
        else {
            throw RequestError("cannot map \(path) into memory: \(systemMessage())", status: .unavailable)
        }
        memory = UnsafeRawPointer(address)
        LostPages.maps.withLock { $0[UInt(bitPattern: address)] = LostPages.Map(path: path, byteCount: size) }
    }

    /// Maps a file within a folder. No component of the name may be a link, because links could lead outside.
    /// - Parameter name: relative to `folder`, without `.` and `..`.
    public convenience init(_ name: String, inside folder: String) throws {
        var step = ""
        for part in name.split(separator: "/") {
            step = step.isEmpty ? String(part) : "\(step)/\(part)"
            let expected: Files.Kind = step == name ? .file : .folder
            let found = Files.kindWithoutFollowing("\(folder)/\(step)")
            guard found == expected else {
                throw FormatError(
                    file: "\(folder)/\(step)",
                    reason: "expected \(expected), found \(found.map { "\($0)" } ?? "nothing")")
            }
        }
        try self.init("\(folder)/\(name)")
    }

    deinit {
        guard let memory else { return }
        _ = LostPages.maps.withLock { $0.removeValue(forKey: UInt(bitPattern: memory)) }
        munmap(UnsafeMutableRawPointer(mutating: memory), Int(identity.size))
    }

    /// The content of the file; the view keeps the map alive.
    public var bytes: ByteView {
        guard let memory else { return ByteView(ByteBuffer(count: 0)) }
        return ByteView(owner: self, start: memory, count: Int(identity.size))
    }
}

extension ByteView {
    /// Returns the pages of a mapped file to the system, so that what has been read of a large file takes no memory of the process. They
    /// are read again when they are accessed. Does nothing for bytes in a buffer.
    package func releasePages() {
        guard isMapped else { return }
        withBytes { bytes in
            let size = Int(sysconf(Int32(_SC_PAGESIZE)))
            let first = UnsafeRawPointer(bytes.baseAddress!).alignedUp(toMultipleOf: size)
            let count = bytes.baseAddress! + bytes.count - first
            guard count >= size else { return }
            madvise(UnsafeMutableRawPointer(mutating: first), count / size * size, MADV_DONTNEED)
        }
    }
}

/// The identity of a file's content: equal identities mean that the file did not change, without reading it again.
public struct FileIdentity: Hashable, Sendable {
    /// The device of the file system.
    public var device: UInt64
    /// The inode on the device.
    public var inode: UInt64
    /// The size in bytes.
    public var size: Int64
    /// The modification time, in nanoseconds since 1970.
    public var modifiedNanoseconds: Int64
    /// The time of the last status change, in nanoseconds since 1970.
    public var changedNanoseconds: Int64

    /// Creates an identity from its parts.
    public init(
        device: UInt64, inode: UInt64, size: Int64, modifiedNanoseconds: Int64, changedNanoseconds: Int64
    ) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.changedNanoseconds = changedNanoseconds
    }
}
