import AccelPlatform

/// A regular file, open for reading, and what it was when it was opened.
struct OpenedFile {
    let descriptor: FileDescriptor
    let identity: FileIdentity
    let access: Files.Access

    /// - Parameter followsLink: whether `path` may be a symbolic link.
    /// - Throws: `FormatError` when `path` is a folder, pipe or device; `RequestError` (unavailable) when it cannot be
    ///   opened.
    init(_ path: String, followsLink: Bool = true) throws {
        // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
        descriptor = FileDescriptor(open(path, flags))
        guard descriptor.number >= 0 else {
            throw RequestError("cannot open \(path): \(systemMessage())", status: .unavailable)
        }
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else {
            throw RequestError("cannot open \(path): \(systemMessage())", status: .unavailable)
        }
        let kind = Files.Kind(mode: status.st_mode)
        guard kind == .file else {
            throw FormatError(file: path, reason: "expected a regular file, found \(kind)")
        }
        identity = FileIdentity(status)
        access = Files.Access(status)
    }
}

/// A whole file in memory of its own: everything that is done with it is done with the same bytes, whatever becomes of the
/// file.
public struct FileContent: Sendable {
    public let bytes: ByteView
    /// As the file was before it was read.
    public let identity: FileIdentity

    /// Reads a file, once.
    /// - Parameter limit: a larger file is refused before it is read.
    /// - Throws: `FormatError` for a file that is too large, no regular file, or cut off while it is read; `RequestError`
    ///   (unavailable) when it cannot be read.
    public init(_ path: String, atMost limit: Int) throws {
        let file = try OpenedFile(path)
        identity = file.identity
        guard let size = Int(exactly: identity.size), size <= limit else {
            throw FormatError(file: path, reason: "has \(identity.size) bytes; at most \(limit) are read")
        }
        let buffer = try ByteBuffer(allocating: size, for: path)
        var position = 0
        while position < size {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[position...])
            let count = pread(file.descriptor.number, part.baseAddress, min(part.count, 1 << 30), off_t(position))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw RequestError("cannot read \(path): \(systemMessage())", status: .unavailable)
            }
            guard count > 0 else {
                throw FormatError(
                    file: path, place: .offset(UInt64(position)),
                    reason: "became shorter while it was being read; run again once it is whole")
            }
            position += count
        }
        bytes = ByteView(buffer)
    }
}
