import AccelPlatform

/// A file without a name, for bytes that are written as they come and read later. It takes no memory, and vanishes with its
/// last reference, however the process ends.
public final class ScratchFile {
    private let descriptor: FileDescriptor
    private let folder: String
    /// The number of bytes written so far.
    public private(set) var count = 0

    /// Creates the file in a folder.
    /// - Throws: `RequestError` (unavailable) if the folder cannot be written.
    public init(in folder: String) throws(RequestError) {
        let place = "\(folder)/\(TemporaryPaths.unnamed)"
        let entry = try TemporaryPaths.entry(beside: place) { path in
            let number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            return number >= 0 ? number : nil
        } drop: {
            close($0)
        }
        guard let entry else {
            throw RequestError(
                "cannot write to \(folder): \(TemporaryPaths.failure(beside: place))", status: .unavailable)
        }
        descriptor = FileDescriptor(entry.made)
        self.folder = folder
        TemporaryPaths.discard(entry.path)
        if entry.hold >= 0 { close(entry.hold) }
    }

    /// Appends bytes.
    /// - Throws: `RequestError` (unavailable) if they cannot be written.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
        guard descriptor.writeAll(bytes) else {
            throw RequestError("cannot write to \(folder): \(systemMessage())", status: .unavailable)
        }
        count += bytes.count
    }

    /// Replaces bytes that were appended.
    /// - Parameter offset: of the first byte; the file has all of them.
    /// - Throws: `RequestError` (unavailable) if they cannot be written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(RequestError) {
        var position = 0
        while position < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
            let count = pwrite(descriptor.number, rest.baseAddress, min(rest.count, 1 << 30), off_t(offset + position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw RequestError("cannot write to \(folder): \(systemMessage())", status: .unavailable)
            }
            position += count
        }
    }

    /// Reads bytes that were appended.
    /// - Parameter offset: of the first byte; the buffer decides the number.
    /// - Throws: `RequestError` (unavailable) if they cannot be read.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(RequestError) {
        var position = 0
        while position < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
            let count = pread(descriptor.number, rest.baseAddress, min(rest.count, 1 << 30), off_t(offset + position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw RequestError("cannot read a file in \(folder): \(systemMessage())", status: .unavailable)
            }
            position += count
        }
    }
}
