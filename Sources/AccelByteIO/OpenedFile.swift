import AccelPlatform

/// A regular file that is open for reading, with its state when it was opened.
struct OpenedFile: ~Copyable {
    let descriptor: FileDescriptor
    let identity: FileIdentity
    let access: Files.Access

    /// - Parameter followsLink: allows `path` to be a symbolic link.
    /// - Throws: `FormatError` if `path` is a folder, pipe or device; `RequestError` (unavailable) if it cannot be
    ///   opened.
    init(_ path: String, followsLink: Bool = true) throws {
        // O_NONBLOCK, because opening a pipe without a writer would wait.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
        descriptor = FileDescriptor(open(path, flags))
        guard descriptor.number >= 0 else {
            let message = systemMessage()
            let hint = followsLink ? Files.suggestion(for: path) : ""
            throw RequestError(Files.brokenLink(path) ?? "cannot open \(path): \(message)\(hint)", status: .unavailable)
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

/// A file read into private memory, so that all its users see the same bytes, even if the file changes.
public struct FileContent: Sendable {
    /// The content.
    public let bytes: ByteView
    /// The identity of the file before it was read.
    public let identity: FileIdentity

    /// Reads a file once.
    /// - Parameter limit: the largest size; a larger file is rejected before it is read.
    /// - Throws: `FormatError` for a file that is too large, not regular, or shortened while it is read; `RequestError`
    ///   (unavailable) if it cannot be read.
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
                    file: path, location: .offset(UInt64(position)),
                    reason: "was truncated while it was being read; run again when it is complete")
            }
            position += count
        }
        bytes = ByteView(buffer)
    }
}
