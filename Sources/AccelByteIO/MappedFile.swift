import AccelPlatform

/// A regular file mapped read-only. Nothing is read until it is touched, nothing is copied.
///
/// A thread that touches what another process has cut off a mapped file gets SIGBUS. A command line tool ends itself then, by
/// `LostPages`; a library leaves signals alone.
public final class MappedFile: @unchecked Sendable {
    public let path: String
    public let identity: FileIdentity
    /// Who owned the very file that is mapped, and what might be done with it, when it was opened.
    public let access: Files.Access
    private let memory: UnsafeRawPointer?

    /// - Parameter followsLink: whether `path` may be a symbolic link.
    /// - Throws: `FormatError` when `path` is a folder, pipe or device; `RequestError` (unavailable) when it cannot be
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

    /// Maps a file inside of a folder. A link could lead anywhere: every step of the way is looked at without following it.
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

    public var bytes: ByteView {
        guard let memory else { return ByteView(ByteBuffer(count: 0)) }
        return ByteView(owner: self, start: memory, count: Int(identity.size))
    }
}

/// What tells that a file is still the one that was read before, without reading it again.
public struct FileIdentity: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    public var size: Int64
    public var modifiedNanoseconds: Int64
    public var changedNanoseconds: Int64

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
