import CAccelZlib

/// The checksum, and the raw and the wrapped deflate streams of zlib.
package enum Deflate {
    /// zlib counts in 32 bits, so larger content is processed in parts.
    private static let partBytes = 1 << 30

    /// Returns the CRC-32 of some bytes, as zip and PNG have it.
    package static func checksum(of view: ByteView) -> UInt32 {
        view.withBytes { bytes in
            var checksum: UInt = 0
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(partBytes))
                checksum = crc32(checksum, part.assumingMemoryBound(to: UInt8.self).baseAddress, UInt32(part.count))
                rest = rest.dropFirst(part.count)
            }
            return UInt32(truncatingIfNeeded: checksum)
        }
    }

    /// Compresses `view`, and passes the output to `sink` in parts.
    static func compress(_ view: ByteView, _ sink: (UnsafeRawBufferPointer) throws -> Void) throws {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        // Negative window bits select a raw stream without a zlib header.
        guard deflateInit2_(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
            throw RequestError("zlib cannot start to compress", status: .internalFailure)
        }
        defer { deflateEnd(&stream) }
        let output = ByteBuffer(count: 1 << 16)
        try view.withBytes { (bytes: UnsafeRawBufferPointer) throws in
            var rest = bytes[...]
            var status = Z_OK
            repeat {
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(partBytes))
                rest = rest.dropFirst(part.count)
                stream.next_in = part.assumingMemoryBound(to: UInt8.self).baseAddress
                stream.avail_in = UInt32(part.count)
                repeat {
                    stream.next_out = output.bytes.assumingMemoryBound(to: UInt8.self).baseAddress
                    stream.avail_out = UInt32(output.bytes.count)
                    status = deflate(&stream, rest.isEmpty ? Z_FINISH : Z_NO_FLUSH)
                    let written = output.bytes.count - Int(stream.avail_out)
                    try sink(UnsafeRawBufferPointer(rebasing: output.bytes[..<written]))
                } while stream.avail_out == 0
            } while !rest.isEmpty
            guard status == Z_STREAM_END else {
                throw RequestError("zlib cannot compress", status: .internalFailure)
            }
        }
    }

    /// Returns the size in bytes of the zlib stream (RFC 1950) of some bytes at zlib's default level.
    package static func zlibSize(of bytes: [UInt8]) throws -> Int {
        // A header of 2 bytes and a checksum of 4 are around the raw stream.
        var size = 6
        try compress(ByteView(bytes)) { size += $0.count }
        return size
    }

    /// Decompresses `view`; nil unless it is one complete stream of exactly `size` bytes.
    static func decompress(_ view: ByteView, size: Int) -> ByteView? {
        guard let (content, unread) = inflated([view], windowBits: -15, size: size), unread == 0 else { return nil }
        return content
    }

    /// Decompresses a zlib stream (RFC 1950) that lies in several parts, and compares its checksum. Bytes behind the stream are ignored.
    /// - Returns: nil unless the stream is complete and has exactly `size` bytes.
    package static func decompress(zlib parts: [ByteView], size: Int) -> ByteView? {
        inflated(parts, windowBits: 15, size: size)?.content
    }

    /// - Parameter windowBits: as zlib has it; negative for a raw stream.
    private static func inflated(
        _ parts: [ByteView], windowBits: Int32, size: Int
    ) -> (content: ByteView, unread: Int)? {
        var stream = z_stream()
        guard inflateInit2_(&stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        // One byte more than expected, to detect a longer stream.
        let output = ByteBuffer(count: size + 1)
        var remaining = output.bytes[...]
        var (status, unread) = (Z_OK, 0)
        for part in parts {
            unread += part.withBytes { bytes in
                var input = bytes[...]
                while status == Z_OK, !input.isEmpty, !remaining.isEmpty {
                    let source = UnsafeRawBufferPointer(rebasing: input.prefix(partBytes))
                    let target = UnsafeMutableRawBufferPointer(rebasing: remaining.prefix(partBytes))
                    stream.next_in = source.assumingMemoryBound(to: UInt8.self).baseAddress
                    stream.avail_in = UInt32(source.count)
                    stream.next_out = target.assumingMemoryBound(to: UInt8.self).baseAddress
                    stream.avail_out = UInt32(target.count)
                    status = inflate(&stream, Z_NO_FLUSH)
                    input = input.dropFirst(source.count - Int(stream.avail_in))
                    remaining = remaining.dropFirst(target.count - Int(stream.avail_out))
                }
                return input.count
            }
        }
        guard status == Z_STREAM_END, remaining.count == 1 else { return nil }
        return (ByteView(output)[0..<size], unread)
    }
}
