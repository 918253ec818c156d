import AccelByteIO
import AccelPlatform

/// The file `ETAG.incomplete` in which the content of a blob is collected from its start. It stays when a download is
/// interrupted, and the next download continues it.
final class IncompleteBlob {
    private let final: String
    private let path: String
    private let digest: ContentDigest
    /// The size of the whole content.
    let byteCount: Int
    /// The number of bytes that the file has.
    private(set) var count = 0
    private let descriptor: FileDescriptor
    private var hasher: ContentHasher
    /// The number of bytes that `hasher` has seen.
    private var hashed = 0

    static func path(forBlob blob: String) -> String { "\(blob).incomplete" }

    /// Opens the file, or creates it.
    /// - Parameter final: the path of the blob.
    convenience init(_ final: String, _ digest: ContentDigest, byteCount: Int) throws {
        let path = Self.path(forBlob: final)
        let flags = O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
        let descriptor = FileDescriptor(open(path, flags, 0o666))
        guard descriptor.number >= 0 else { throw Self.failure(at: path) }
        var status = stat()
        guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HubError(.cacheFailure, subject: path, expected: "a regular file")
        }
        try self.init(descriptor, path: path, final: final, digest, byteCount: byteCount, count: Int(status.st_size))
    }

    /// - Parameter count: the size of the file.
    init(
        _ descriptor: consuming FileDescriptor, path: String, final: String, _ digest: ContentDigest, byteCount: Int,
        count: Int
    ) throws {
        (self.path, self.final, self.digest, self.byteCount, self.count) = (path, final, digest, byteCount, count)
        self.descriptor = descriptor
        hasher = ContentHasher(like: digest, byteCount: byteCount)
        if count > byteCount { try restart() }
    }

    /// Appends bytes.
    /// - Throws: `HubError` (`noSpace` or `cacheFailure`); the bytes written before remain.
    func append(_ bytes: UnsafeRawBufferPointer) throws(HubError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = write(descriptor.number, rest.baseAddress, min(rest.count, 1 << 30))
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw Self.failure(at: path) }
            let part = UnsafeRawBufferPointer(rebasing: rest[..<written])
            if hashed == count {
                hasher.update(part)
                hashed += written
            }
            count += written
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    /// Drops the content.
    func restart() throws(HubError) {
        guard ftruncate(descriptor.number, 0) == 0 else { throw Self.failure(at: path) }
        (count, hashed) = (0, 0)
        hasher = ContentHasher(like: digest, byteCount: byteCount)
    }

    /// Returns the first bytes; fewer if the file has fewer.
    func prefix(_ length: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: min(length, count))
        var done = 0
        while done < bytes.count {
            done += try bytes.withUnsafeMutableBytes { buffer in
                try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), from: done)
            }
        }
        return bytes
    }

    /// Hashes the bytes that an earlier download has left.
    func hashRest() throws {
        var buffer = [UInt8](repeating: 0, count: hashed < count ? 1 << 20 : 0)
        while hashed < count {
            let part = try buffer.withUnsafeMutableBytes { buffer in
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count - hashed))
                let length = try read(into: part, from: hashed)
                hasher.update(UnsafeRawBufferPointer(rebasing: part[..<length]))
                return length
            }
            hashed += part
        }
    }

    /// Reads at least one byte.
    private func read(into buffer: UnsafeMutableRawBufferPointer, from offset: Int) throws(HubError) -> Int {
        while true {
            let length = pread(descriptor.number, buffer.baseAddress, buffer.count, off_t(offset))
            if length > 0 { return length }
            guard length < 0, errno == EINTR else { throw Self.failure(at: path) }
        }
    }

    /// Publishes the blob, if it has its digest; otherwise the content is dropped.
    /// - Returns: The digest that was found instead; nil for a whole blob.
    func commit() throws -> ContentDigest? {
        try hashRest()
        let found = hasher.finalized()
        guard found == digest else {
            unlink(path)
            return found
        }
        guard fsync(descriptor.number) == 0 else { throw Self.failure(at: path) }
        if cp_rename_exclusively(path, final) == 0 { return nil }
        // Another process has published the same content; or the file system does not know this kind of renaming.
        if Files.kindWithoutFollowing(final) != nil {
            unlink(path)
        } else if rename(path, final) != 0 {
            throw Self.failure(at: final)
        }
        return nil
    }

    private static func failure(at path: String) -> HubError {
        let isFull = [ENOSPC, EDQUOT, EFBIG].contains(errno)
        return HubError(isFull ? .noSpace : .cacheFailure, subject: path, found: systemMessage())
    }
}
