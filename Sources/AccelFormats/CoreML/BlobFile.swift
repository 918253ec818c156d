import AccelByteIO

/// The file `weights/weight.bin` (blob storage version 2, MILBlob's StorageFormat.hpp): a header, then for each entry a
/// description and its bytes, all aligned to 64 bytes. Offsets are known before the file is written, because the program
/// that refers to them is made first.
struct BlobFile {
    private struct Entry {
        let dataType: MILDataType
        let elements: Int
        let byteCount: Int
        let offset: Int
        let content: () throws -> ByteView
    }
    private var entries: [Entry] = []
    private var offsets: [String: Int] = [:]
    private var end = 64

    var isEmpty: Bool { entries.isEmpty }

    /// Returns the offset of the entry called `key`, and adds the entry if it is new.
    /// - Parameter content: returns the bytes when the file is written; elements smaller than a byte are packed as bits.
    mutating func offset(
        _ key: String, _ dataType: MILDataType, elements: Int, content: @escaping () throws -> ByteView
    ) -> Int {
        if let offset = offsets[key] { return offset }
        let offset = (end + 63) / 64 * 64
        let byteCount = (elements * (dataType.bits ?? 8) + 7) / 8
        entries.append(
            Entry(dataType: dataType, elements: elements, byteCount: byteCount, offset: offset, content: content))
        offsets[key] = offset
        end = offset + 64 + byteCount
        return offset
    }

    /// Returns the bytes of the entry at `offset`; nil if there is none.
    func content(at offset: Int) throws -> ByteView? {
        try entries.first { $0.offset == offset }?.content()
    }

    /// Returns the digest of each entry's elements, in the order of the file.
    func digests() throws -> [(offset: Int, digest: Digest)] {
        try entries.map { ($0.offset, SHA256.digest(of: try $0.content())) }
    }

    /// Bytes of the whole file.
    var byteCount: Int { end }

    func write(to path: String) throws {
        var file = try AtomicFile(replacing: path, as: .internal)
        var header = ByteWriter()
        header.append(UInt32(entries.count))
        header.append(UInt32(2))
        header.pad(to: 64)
        try file.write(header.view)
        for entry in entries {
            try file.pad(to: 64)
            var description = ByteWriter()
            description.append(UInt32(0xDEAD_BEEF))
            description.append(UInt32(entry.dataType.blobCode))
            description.append(UInt64(entry.byteCount))
            description.append(UInt64(entry.offset + 64))
            description.append(UInt64(entry.byteCount * 8 - entry.elements * (entry.dataType.bits ?? 8)))
            description.pad(to: 64)
            try file.write(description.view)
            let content = try entry.content()
            guard content.count == entry.byteCount else {
                throw FormatError(
                    file: path, location: .offset(UInt64(entry.offset)),
                    reason: "expected \(entry.byteCount) bytes of \(entry.dataType.word), found \(content.count)")
            }
            try file.write(content)
        }
        try file.commit()
    }
}

extension MILDataType {
    /// The types that blob files support, in the order of their numbers, from 1 on.
    private static let blobTypes: [MILDataType] = [
        .float16, .float32, .uint8, .int8, .bfloat16, .int16, .uint16, .int4, .uint1, .uint2, .uint4, .uint3, .uint6,
        .int32, .uint32,
    ]

    /// The number of the type in blob files; 0 if they do not support it.
    var blobCode: Int { (Self.blobTypes.firstIndex(of: self) ?? -1) + 1 }

    /// The type of a number in blob files; nil for an unknown number.
    init?(blobCode: Int) {
        guard Self.blobTypes.indices.contains(blobCode - 1) else { return nil }
        self = Self.blobTypes[blobCode - 1]
    }
}
