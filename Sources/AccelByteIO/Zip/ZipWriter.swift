/// Writes a zip archive (deflate through zlib, zip64 if needed). Times are fixed, so that equal content gives equal
/// bytes. Without `commit` no file appears.
public struct ZipWriter: ~Copyable {
    private struct Record {
        var name: String
        var flags: UInt16
        var method: UInt16
        var checksum: UInt32
        var compressedSize: Int
        var size: Int
        var offset: Int
    }

    private var file: AtomicFile
    private let path: String
    private let largest: Int
    private var records: [Record] = []
    private var names = FileNames()

    /// Starts an archive.
    /// - Parameter kind: decides whether an existing entry at `path` may be replaced.
    public init(replacing path: String, as kind: OutputKind) throws {
        try self.init(replacing: path, as: kind, largestIn32Bits: 0xFFFF_FFFE)
    }

    /// - Parameter largestIn32Bits: larger sizes and offsets use zip64 fields.
    init(replacing path: String, as kind: OutputKind, largestIn32Bits largest: Int) throws {
        self.path = path
        self.largest = largest
        file = try AtomicFile(replacing: path, as: kind)
    }

    /// Appends a file.
    /// - Parameter name: relative, with `/` between its components.
    /// - Parameter alignment: the alignment of the content in the archive, up to 32768, for entries to be mapped (not
    ///   compressed).
    public mutating func append(
        _ name: String, _ content: ByteView, compressed: Bool, alignment: Int = 1
    ) throws {
        if let flaw = ZipFormat.flaw(ofName: name) ?? names.insert(name) {
            throw RequestError("cannot write \(path): \(flaw)")
        }
        guard (1...32768).contains(alignment) else {
            throw RequestError("cannot write \(path): an alignment of \(alignment), expected 1...32768")
        }
        var record = Record(
            name: name, flags: ZipFormat.utf8Flag, method: ZipFormat.stored, checksum: Deflate.checksum(of: content),
            compressedSize: content.count, size: content.count, offset: file.count)
        if compressed {
            // The compressed size is known only after the content, so a descriptor follows it.
            record.flags |= ZipFormat.descriptorFlag
            record.method = ZipFormat.deflated
            record.compressedSize = 0
        }
        // Deflate can lengthen incompressible content by a few bytes per 16 KiB.
        let large = content.count + content.count / 1024 + 64 > largest
        try file.write(ByteView(localHeader(of: record, large: large, alignment: alignment).bytes))
        if compressed {
            let start = file.count
            let target = file.file
            try Deflate.compress(content) { try target.write($0) }
            record.compressedSize = file.count - start
            try file.write(ByteView(descriptor(of: record, large: large).bytes))
        } else {
            try file.write(content)
        }
        records.append(record)
    }

    private func localHeader(of record: Record, large: Bool, alignment: Int) -> ByteWriter {
        var extra = ByteWriter()
        if large {
            extra.append(ZipFormat.zip64Extra)
            extra.append(UInt16(16))
            extra.append(UInt64(record.method == ZipFormat.stored ? record.size : 0))
            extra.append(UInt64(record.compressedSize))
        }
        let contentStart = record.offset + 30 + record.name.utf8.count + extra.count
        var padding = (alignment - contentStart % alignment) % alignment
        if padding > 0 {
            // The padding is an extra field: 4 bytes of header, 2 bytes of alignment, zeros.
            while padding < 6 { padding += alignment }
            extra.append(ZipFormat.alignmentExtra)
            extra.append(UInt16(padding - 4))
            extra.append(UInt16(alignment))
            extra.append(repeatElement(0, count: padding - 6))
        }
        let deferred = record.flags & ZipFormat.descriptorFlag != 0
        var header = ByteWriter()
        header.append(ZipFormat.localSignature)
        appendCommon(record, large: large, &header)
        header.append(deferred ? 0 : record.checksum)
        header.append(large ? UInt32.max : deferred ? 0 : UInt32(record.compressedSize))
        header.append(large ? UInt32.max : deferred ? 0 : UInt32(record.size))
        header.append(UInt16(record.name.utf8.count))
        header.append(UInt16(extra.count))
        header.append(record.name)
        header.append(extra.bytes)
        return header
    }

    /// Appends the required version, flags, method, and the earliest date of the format, 1980-01-01.
    private func appendCommon(_ record: Record, large: Bool, _ header: inout ByteWriter) {
        header.append(UInt16(large ? 45 : 20))
        header.append(record.flags)
        header.append(record.method)
        header.append(UInt16(0))
        header.append(UInt16(0x21))
    }

    private func descriptor(of record: Record, large: Bool) -> ByteWriter {
        var descriptor = ByteWriter()
        descriptor.append(ZipFormat.descriptorSignature)
        descriptor.append(record.checksum)
        for size in [record.compressedSize, record.size] {
            if large { descriptor.append(UInt64(size)) } else { descriptor.append(UInt32(size)) }
        }
        return descriptor
    }

    private func centralHeader(of record: Record) -> ByteWriter {
        var extra = ByteWriter()
        let fields = [record.size, record.compressedSize, record.offset]
        let large = fields.filter { $0 > largest }
        if !large.isEmpty {
            extra.append(ZipFormat.zip64Extra)
            extra.append(UInt16(8 * large.count))
            for field in large { extra.append(UInt64(field)) }
        }
        func short(_ field: Int) -> UInt32 { field > largest ? .max : UInt32(field) }
        var header = ByteWriter()
        header.append(ZipFormat.centralSignature)
        header.append(UInt16(3 << 8 | 45))
        appendCommon(record, large: !large.isEmpty, &header)
        header.append(record.checksum)
        header.append(short(record.compressedSize))
        header.append(short(record.size))
        header.append(UInt16(record.name.utf8.count))
        header.append(UInt16(extra.count))
        for _ in 0..<3 { header.append(UInt16(0)) }  // comment, disk, internal attributes
        header.append(UInt32(0o100644) << 16)
        header.append(short(record.offset))
        header.append(record.name)
        header.append(extra.bytes)
        return header
    }

    /// Writes the directory, syncs the archive and publishes it.
    public consuming func commit() throws {
        let start = file.count
        for record in records { try file.write(ByteView(centralHeader(of: record).bytes)) }
        let size = file.count - start
        var end = ByteWriter()
        if records.count > min(largest, 0xFFFE) || start > largest || size > largest {
            let end64 = file.count
            end.append(ZipFormat.end64Signature)
            end.append(UInt64(ZipFormat.end64Bytes - 12))
            end.append(UInt16(3 << 8 | 45))
            end.append(UInt16(45))
            end.append(UInt64(0))  // disks
            end.append(UInt64(records.count))
            end.append(UInt64(records.count))
            end.append(UInt64(size))
            end.append(UInt64(start))
            end.append(ZipFormat.locatorSignature)
            end.append(UInt32(0))
            end.append(UInt64(end64))
            end.append(UInt32(1))
        }
        end.append(ZipFormat.endSignature)
        end.append(UInt32(0))  // disks
        for _ in 0..<2 { end.append(records.count > min(largest, 0xFFFE) ? UInt16.max : UInt16(records.count)) }
        end.append(size > largest ? UInt32.max : UInt32(size))
        end.append(start > largest ? UInt32.max : UInt32(start))
        end.append(UInt16(0))  // comment
        try file.write(ByteView(end.bytes))
        try file.commit()
    }
}
