import AccelPlatform

/// The end of a large file, written past the page cache. Otherwise it would evict everything else from the cache, and
/// take twice as long to reach the disk.
final class DirectFile {
    /// The alignment of offsets and memory, which suffices for all disks.
    static let pageBytes = 4096
    private static let bufferBytes = 4 << 20

    private var descriptor: FileDescriptor
    /// While the system writes one buffer, the other one is filled.
    private var buffer = ByteBuffer(count: bufferBytes)
    private var other = ByteBuffer(count: bufferBytes)
    private var buffered = 0
    /// The offset of the buffer in the file; a multiple of the page size.
    private var offset: Int
    /// The write of `other` that the system was asked for, and its bytes; they are in use until `finishRequest` returns.
    private let request = UnsafeMutablePointer<aiocb>.allocate(capacity: 1)
    private var requested: UnsafeRawBufferPointer?

    /// - Parameter offset: the current size of the file; a multiple of `pageBytes`.
    /// - Returns: Nil if the system or the file system does not support it.
    init?(_ path: String, from offset: Int) {
        descriptor = FileDescriptor(cp_open_past_cache(path))
        self.offset = offset
        guard descriptor.number >= 0 else { return nil }
    }

    deinit {
        _ = finishRequest()
        request.deallocate()
    }

    /// Writes bytes. Returns false on a system error, which is in `errno`.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.bufferBytes - buffered))
            UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[buffered...]).copyMemory(from: part)
            buffered += part.count
            rest = rest.dropFirst(part.count)
            if buffered == Self.bufferBytes, !start() { return false }
        }
        return true
    }

    /// Asks the system to write the buffer, which is full.
    private func start() -> Bool {
        guard finishRequest() else { return false }
        swap(&buffer, &other)
        let bytes = UnsafeRawBufferPointer(other.bytes)
        request.initialize(to: aiocb())
        request.pointee.aio_fildes = descriptor.number
        request.pointee.aio_offset = off_t(offset)
        request.pointee.aio_buf = other.bytes.baseAddress
        request.pointee.aio_nbytes = bytes.count
        request.pointee.aio_sigevent.sigev_notify = Int32(SIGEV_NONE)
        buffered = 0
        // The system may lack the resources for the request.
        guard aio_write(request) == 0 else {
            guard writeNow(bytes) else { return false }
            offset += bytes.count
            return true
        }
        requested = bytes
        return true
    }

    /// Waits for the end of the write that was asked for.
    private func finishRequest() -> Bool {
        guard let bytes = requested else { return true }
        requested = nil
        var list: UnsafePointer<aiocb>? = UnsafePointer(request)
        while aio_error(request) == EINPROGRESS { _ = aio_suspend(&list, 1, nil) }
        let error = aio_error(request)
        let count = aio_return(request)
        if count != bytes.count {
            errno = error
            guard count >= 0 || error == EINVAL || error == EAGAIN, writeNow(bytes) else { return false }
        }
        offset += bytes.count
        return true
    }

    /// Writes the buffer to the file. The last page is padded with zeros until more is written, or `finish` is called.
    func flush() -> Bool {
        guard finishRequest() else { return false }
        let tail = buffered % Self.pageBytes
        let whole = buffered - tail
        let padded = whole + (tail > 0 ? Self.pageBytes : 0)
        guard padded > 0 else { return true }
        memset(buffer.bytes.baseAddress! + buffered, 0, padded - buffered)
        guard writeNow(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<padded])) else { return false }
        offset += whole
        buffered = tail
        // The incomplete page will be written again.
        if tail > 0 { memmove(buffer.bytes.baseAddress!, buffer.bytes.baseAddress! + whole, tail) }
        return true
    }

    /// Writes the buffer and sets the size of the file.
    func finish() -> Bool {
        flush() && ftruncate(descriptor.number, off_t(offset + buffered)) == 0 && descriptor.close()
    }

    /// Writes bytes at the offset.
    private func writeNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        func write() -> Bool {
            lseek(descriptor.number, off_t(offset), SEEK_SET) == offset && descriptor.writeAll(bytes)
        }
        if write() { return true }
        // Some file systems accept the descriptor but reject the writes; or an odd number of bytes was written.
        guard errno == EINVAL else { return false }
        cp_go_through_cache(descriptor.number)
        return write()
    }
}
