import AccelPlatform

/// The end of a large file, written past the page cache. Otherwise it would evict everything else from the cache, and
/// take twice as long to reach the disk.
final class DirectFile {
    /// The alignment of offsets and memory, which suffices for all disks.
    static let pageBytes = 4096
    private static let bufferBytes = 4 << 20

    private var descriptor: FileDescriptor
    private let buffer = ByteBuffer(count: bufferBytes)
    private var buffered = 0
    /// The offset of the buffer in the file; a multiple of the page size.
    private var offset: Int

    /// - Parameter offset: the current size of the file; a multiple of `pageBytes`.
    /// - Returns: Nil if the system or the file system does not support it.
    init?(_ path: String, from offset: Int) {
        descriptor = FileDescriptor(cp_open_past_cache(path))
        self.offset = offset
        guard descriptor.number >= 0, lseek(descriptor.number, off_t(offset), SEEK_SET) == offset else { return nil }
    }

    /// Writes bytes. Returns false on a system error, which is in `errno`.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.bufferBytes - buffered))
            UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[buffered...]).copyMemory(from: part)
            buffered += part.count
            rest = rest.dropFirst(part.count)
            if buffered == Self.bufferBytes, !flush() { return false }
        }
        return true
    }

    /// Writes the buffer to the file. The last page is padded with zeros until more is written, or `finish` is called.
    func flush() -> Bool {
        let tail = buffered % Self.pageBytes
        let whole = buffered - tail
        let padded = whole + (tail > 0 ? Self.pageBytes : 0)
        guard padded > 0 else { return true }
        memset(buffer.bytes.baseAddress! + buffered, 0, padded - buffered)
        guard writeNow(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<padded])) else { return false }
        offset += whole
        buffered = tail
        guard tail > 0 else { return true }
        // The incomplete page will be written again.
        memmove(buffer.bytes.baseAddress!, buffer.bytes.baseAddress! + whole, tail)
        return lseek(descriptor.number, off_t(offset), SEEK_SET) == offset
    }

    /// Writes the buffer and sets the size of the file.
    func finish() -> Bool {
        flush() && ftruncate(descriptor.number, off_t(offset + buffered)) == 0 && descriptor.close()
    }

    private func writeNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if descriptor.writeAll(bytes) { return true }
        // Some file systems accept the descriptor but refuse the writes; or an odd number of bytes was written.
        guard errno == EINVAL, lseek(descriptor.number, off_t(offset), SEEK_SET) == offset else { return false }
        cp_go_through_cache(descriptor.number)
        return descriptor.writeAll(bytes)
    }
}
