import AccelPlatform

/// A file's end, written past the page cache: the rest of a large file would push everything else out of it, and the system
/// takes twice as long to bring it from there to the disk.
final class DirectFile {
    /// No disk's blocks, and no memory's pages, want more.
    static let pageBytes = 4096
    private static let bufferBytes = 4 << 20

    private let descriptor: FileDescriptor
    private let buffer = ByteBuffer(count: bufferBytes)
    private var buffered = 0
    /// Where the buffer's bytes belong in the file: on a page.
    private var offset: Int

    /// - Parameter offset: where the file ends; a multiple of `pageBytes`.
    /// - Returns: nil where the system or its file system does not offer that.
    init?(_ path: String, from offset: Int) {
        descriptor = FileDescriptor(cp_open_past_cache(path))
        self.offset = offset
        guard descriptor.number >= 0, lseek(descriptor.number, off_t(offset), SEEK_SET) == offset else { return nil }
    }

    /// Returns false when the system reports an error, which `errno` tells.
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

    /// Brings everything into the file. Zeros follow up to the end of the page, until more is written or `finish` is called.
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
        // The page that is not full will be written once more.
        memmove(buffer.bytes.baseAddress!, buffer.bytes.baseAddress! + whole, tail)
        return lseek(descriptor.number, off_t(offset), SEEK_SET) == offset
    }

    /// Brings everything into the file, which ends there.
    func finish() -> Bool {
        flush() && ftruncate(descriptor.number, off_t(offset + buffered)) == 0 && descriptor.close()
    }

    private func writeNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if descriptor.writeAll(bytes) { return true }
        // Some file systems take such a descriptor, but not what is written to it; or an odd part has been written.
        guard errno == EINVAL, lseek(descriptor.number, off_t(offset), SEEK_SET) == offset else { return false }
        cp_go_through_cache(descriptor.number)
        return descriptor.writeAll(bytes)
    }
}
