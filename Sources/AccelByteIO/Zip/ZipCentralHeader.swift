/// The directory record of one entry of an archive.
struct ZipCentralHeader {
    static let leastBytes = 46

    /// The offset of this record.
    let position: Int
    let name: String
    let isFolder: Bool
    let isCompressed: Bool
    let flags: UInt16
    let checksum: UInt32
    let compressedSize: Int
    let size: Int
    let localOffset: Int

    init(parsing reader: inout ByteReader) throws(FormatError) {
        let start = reader.position
        position = start
        guard try reader.integer(UInt32.self) == ZipFormat.centralSignature else {
            throw reader.error("expected a directory entry", at: start)
        }
        let madeBy = try reader.integer(UInt16.self)
        let version = try reader.integer(UInt16.self) & 0xFF
        guard version <= 45 else {
            throw reader.error("the entry needs zip version \(version); 45 is known", at: start)
        }
        flags = try reader.integer()
        let method: UInt16 = try reader.integer()
        _ = try reader.integer(UInt32.self)  // time
        checksum = try reader.integer()
        let (shortCompressed, shortSize) = (try reader.integer(UInt32.self), try reader.integer(UInt32.self))
        let nameLength = Int(try reader.integer(UInt16.self))
        let extraLength = Int(try reader.integer(UInt16.self))
        let commentLength = Int(try reader.integer(UInt16.self))
        let disk = try reader.integer(UInt16.self)
        _ = try reader.integer(UInt16.self)  // internal attributes
        let attributes = try reader.integer(UInt32.self)
        let shortOffset = try reader.integer(UInt32.self)
        let fullName = try Self.name(nameLength, isUTF8: flags & ZipFormat.utf8Flag != 0, &reader)
        isFolder = fullName.hasSuffix("/")
        name = isFolder ? String(fullName.dropLast()) : fullName
        if let flaw = ZipFormat.flaw(ofName: name) { throw reader.error(flaw, at: start) }
        var sizes = try ZipExtra(parsing: reader.bytes(extraLength), reader, at: reader.position - extraLength)
            .wideSizes
        _ = try reader.bytes(commentLength)

        func rejected(_ reason: String) -> FormatError {
            reader.error("entry \(quoted(fullName)): \(reason)", at: start)
        }
        func wide(_ short: UInt32) throws(FormatError) -> Int {
            guard short == .max else { return Int(short) }
            guard !sizes.isEmpty, let number = Int(exactly: sizes.removeFirst()) else {
                throw rejected("a zip64 size is missing or out of range")
            }
            return number
        }
        size = try wide(shortSize)
        compressedSize = try wide(shortCompressed)
        localOffset = try wide(shortOffset)
        guard sizes.isEmpty else { throw rejected("zip64 sizes that the header does not ask for") }
        guard disk == 0 else { throw rejected("stands on another disk") }
        guard flags & 0x2041 == 0 else { throw rejected("is encrypted") }
        guard flags & ~(ZipFormat.utf8Flag | ZipFormat.descriptorFlag | ZipFormat.hintFlags) == 0 else {
            throw rejected("has unknown flags 0x\(String(flags, radix: 16))")
        }
        guard method == ZipFormat.stored || method == ZipFormat.deflated else {
            throw rejected("is compressed by method \(method); 0 (stored) and 8 (deflate) are known")
        }
        isCompressed = method == ZipFormat.deflated
        guard isCompressed || size == compressedSize else { throw rejected("is stored, but its two sizes differ") }
        guard !isFolder || size == 0 else { throw rejected("is a folder with content") }
        // Unix (3) and macOS (19) store the kind of file.
        let mode = attributes >> 16 & 0o170000
        if madeBy >> 8 == 3 || madeBy >> 8 == 19 || mode != 0 {
            guard [0, isFolder ? 0o040000 : 0o100000].contains(mode) else {
                throw rejected("is a symbolic link, device, pipe or other special file")
            }
        }
    }

    private static func name(_ length: Int, isUTF8: Bool, _ reader: inout ByteReader) throws(FormatError) -> String {
        let start = reader.position
        let text = try reader.text(length)
        guard isUTF8 || text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw reader.error("a name is neither ASCII nor marked as UTF-8", at: start)
        }
        return text
    }

    /// Checks the entry's local header, and the descriptor after the content if there is one, against the directory.
    /// - Parameter reader: at the local header; it ends at the next entry.
    /// - Returns: The range of the content.
    func checkLocal(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
        let start = reader.position
        func rejected(_ what: String, _ reader: ByteReader) -> FormatError {
            reader.error("entry \(quoted(name)): \(what) than the directory tells", at: start)
        }
        guard try reader.integer(UInt32.self) == ZipFormat.localSignature else {
            throw reader.error("expected the header of entry \(quoted(name))", at: start)
        }
        _ = try reader.integer(UInt16.self)  // version
        guard try reader.integer(UInt16.self) == flags else { throw rejected("other flags", reader) }
        guard try reader.integer(UInt16.self) == (isCompressed ? ZipFormat.deflated : ZipFormat.stored) else {
            throw rejected("another method", reader)
        }
        _ = try reader.integer(UInt32.self)  // time
        let localChecksum = try reader.integer(UInt32.self)
        let (shortCompressed, shortSize) = (try reader.integer(UInt32.self), try reader.integer(UInt32.self))
        let nameLength = Int(try reader.integer(UInt16.self))
        let extraLength = Int(try reader.integer(UInt16.self))
        guard try reader.text(nameLength) == name + (isFolder ? "/" : "") else {
            throw rejected("another name", reader)
        }
        let extra = try ZipExtra(parsing: reader.bytes(extraLength), reader, at: reader.position - extraLength)
        var wide = extra.wideSizes
        guard wide.isEmpty || wide.count == 2 else { throw rejected("other zip64 sizes", reader) }
        let isWide = !wide.isEmpty
        let localSize = shortSize == .max && isWide ? wide.removeFirst() : UInt64(shortSize)
        let localCompressed = shortCompressed == .max && isWide ? wide.removeLast() : UInt64(shortCompressed)

        let deferred = flags & ZipFormat.descriptorFlag != 0
        let isExact = (localChecksum, localSize, localCompressed) == (checksum, UInt64(size), UInt64(compressedSize))
        let isBlank = (localChecksum, localSize, localCompressed) == (0, 0, 0)
        guard isExact || (deferred && isBlank) else { throw rejected("another size or checksum", reader) }
        let contentStart = reader.position
        _ = try reader.bytes(compressedSize)
        if deferred { try checkDescriptor(&reader, isWide: isWide) }
        guard reader.isAtEnd else {
            throw reader.error("\(reader.remaining) bytes after \(quoted(name)) belong to no entry")
        }
        return contentStart..<contentStart + compressedSize
    }

    private func checkDescriptor(_ reader: inout ByteReader, isWide: Bool) throws(FormatError) {
        let start = reader.position
        let sizeBytes = isWide ? 16 : 8
        // The signature is optional.
        if reader.remaining == 4 + 4 + sizeBytes {
            guard try reader.integer(UInt32.self) == ZipFormat.descriptorSignature else {
                throw reader.error("expected the data descriptor of \(quoted(name))", at: start)
            }
        }
        let found = try reader.integer(UInt32.self)
        let compressed = isWide ? try reader.integer(UInt64.self) : UInt64(try reader.integer(UInt32.self))
        let unpacked = isWide ? try reader.integer(UInt64.self) : UInt64(try reader.integer(UInt32.self))
        guard (found, compressed, unpacked) == (checksum, UInt64(compressedSize), UInt64(size)) else {
            throw reader.error("the data descriptor of \(quoted(name)) disagrees with the directory", at: start)
        }
    }
}

/// The extra fields of a header, of which only the zip64 sizes are used.
private struct ZipExtra {
    private(set) var wideSizes: [UInt64] = []

    /// - Parameter outer: the reader of the header, for errors.
    init(parsing bytes: ByteView, _ outer: ByteReader, at position: Int) throws(FormatError) {
        // Older tools align content with a few zero bytes that are not a field.
        var reader = ByteReader(bytes, file: "")
        var seen = false
        while reader.remaining >= 4 {
            let fieldStart = position + reader.position
            guard let kind = try? reader.integer(UInt16.self), let length = try? reader.integer(UInt16.self),
                let field = try? reader.bytes(Int(length))
            else { throw outer.error("an extra field is longer than its header says", at: fieldStart) }
            if kind == ZipFormat.unicodePathExtra {
                throw outer.error("an extra field gives the entry another name", at: fieldStart)
            }
            if kind == ZipFormat.oldUnixExtra || kind == ZipFormat.unixExtra && length > 12 {
                throw outer.error("an extra field makes the entry a link", at: fieldStart)
            }
            if kind == ZipFormat.alignmentExtra, field.withBytes({ $0.dropFirst(2).contains { $0 != 0 } }) {
                throw outer.error("the padding before an entry is not zero", at: fieldStart)
            }
            guard kind == ZipFormat.zip64Extra else { continue }
            guard !seen, field.count % 8 == 0, field.count <= 24 else {
                throw outer.error("the zip64 sizes are given twice or are too many", at: fieldStart)
            }
            seen = true
            wideSizes = field.withBytes { raw in
                (0..<raw.count / 8).map {
                    UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self))
                }
            }
        }
    }
}
