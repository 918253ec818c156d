import AccelByteIO

/// Reads `weights/weight.bin` (blob storage version 2): a header of 64 bytes, and for each entry a description of 64 bytes
/// with its elements. Programs refer to descriptions by their offset.
struct BlobReader: Sendable {
    /// The stored elements of an entry.
    struct Entry: Equatable {
        let dataType: MILDataType
        let elements: Int
        /// The offset of the elements in the file.
        let start: Int
        let bytes: ByteView
    }
    let bytes: ByteView
    let file: String
    /// The number of entries by the header.
    let count: Int

    init(_ bytes: ByteView, file: String) throws(FormatError) {
        var reader = ByteReader(bytes, file: file)
        count = Int(try reader.integer(UInt32.self))
        let version = try reader.integer(UInt32.self)
        guard version == 2 else {
            throw reader.error("blob storage of version \(version); accelc reads version 2", at: 4)
        }
        _ = try reader.bytes(56)
        guard count <= reader.remaining / 64 else {
            throw reader.error("\(count) entries do not fit in \(bytes.count) bytes", at: 0)
        }
        self.bytes = bytes
        self.file = file
    }

    /// Returns the entry whose description is at `offset`.
    func entry(at offset: Int) throws(FormatError) -> Entry {
        guard offset % 64 == 0, offset >= 64, offset <= bytes.count - 64 else {
            throw FormatError(
                file: file, location: .offset(UInt64(max(offset, 0))),
                reason: "no entry can be described here, in a file of \(bytes.count) bytes")
        }
        var reader = ByteReader(bytes, file: file, position: offset)
        let sentinel = try reader.integer(UInt32.self)
        guard sentinel == 0xDEAD_BEEF else {
            throw reader.error("expected the sentinel 0xDEADBEEF, found 0x\(String(sentinel, radix: 16))", at: offset)
        }
        let code = try reader.integer(UInt32.self)
        guard let type = MILDataType(blobCode: Int(code)), let bits = type.bits else {
            throw reader.error("accelc does not read the element type \(code)", at: offset + 4)
        }
        let byteCount = try reader.natural("size", in: 0...bytes.count)
        let start = try reader.natural("offset of the elements", in: 0...bytes.count)
        guard byteCount <= bytes.count - start else {
            throw reader.error(
                "\(byteCount) bytes from \(start) on reach beyond the file's \(bytes.count)", at: offset + 8)
        }
        let padding = try reader.natural("unused bits", in: 0...7)
        let used = byteCount * 8 - padding
        guard used >= 0, used % bits == 0 else {
            throw reader.error("\(used) bits are no whole elements of \(bits) bits", at: offset + 24)
        }
        return Entry(dataType: type, elements: used / bits, start: start, bytes: bytes[start..<start + byteCount])
    }
}
