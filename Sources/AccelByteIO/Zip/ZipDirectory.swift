/// Reads and checks the directory of a zip archive, and the local header of every entry.
struct ZipDirectory {
    private(set) var entries: [ZipArchive.Entry] = []

    private let bytes: ByteView
    private let file: String
    private let limits: ZipArchive.Limits

    init(_ bytes: ByteView, file: String, limits: ZipArchive.Limits) throws(FormatError) {
        self.bytes = bytes
        self.file = file
        self.limits = limits

        let end = try ZipEnd(bytes, file: file)
        guard end.entries <= limits.entries else {
            throw error("the archive has \(end.entries) entries; at most \(limits.entries) are read", at: end.position)
        }
        var reader = ByteReader(bytes[0..<end.position], file: file, position: end.directory.lowerBound)
        var headers: [ZipCentralHeader] = []
        var names = FileNames()
        for _ in 0..<end.entries {
            let start = reader.position
            let header = try ZipCentralHeader(parsing: &reader)
            if let flaw = names.insert(header.name, isFolder: header.isFolder) { throw error(flaw, at: start) }
            headers.append(header)
        }
        guard reader.isAtEnd else {
            throw reader.error(
                "\(reader.remaining) bytes of the directory belong to none of its \(end.entries) entries")
        }
        try checkSizes(headers)
        let ranges = try contentRanges(of: headers, end: end.directory.lowerBound)
        entries = zip(headers, ranges).filter { !$0.0.isFolder }.map { header, range in
            ZipArchive.Entry(
                name: header.name, size: header.size, isCompressed: header.isCompressed, checksum: header.checksum,
                range: range)
        }
    }

    private func error(_ reason: String, at position: Int) -> FormatError {
        FormatError(file: file, location: .offset(UInt64(position)), reason: reason)
    }

    private func checkSizes(_ headers: [ZipCentralHeader]) throws(FormatError) {
        var unpacked = 0
        for header in headers where header.isCompressed {
            let (sum, overflow) = unpacked.addingReportingOverflow(header.size)
            guard !overflow, sum <= limits.unpackedBytes else {
                throw error(
                    "the compressed entries unpack to more than \(limits.unpackedBytes) bytes", at: header.position)
            }
            unpacked = sum
            // The ratio of a very small entry is meaningless.
            guard header.size / limits.ratio <= max(header.compressedSize, 64) else {
                throw error(
                    "\(quoted(header.name)) unpacks \(header.compressedSize) bytes to \(header.size), more than "
                        + "\(limits.ratio) times as many", at: header.position)
            }
        }
    }

    /// Returns the content of each entry. Entries have to be consecutive, from the first byte to the directory.
    private func contentRanges(of headers: [ZipCentralHeader], end: Int) throws(FormatError) -> [Range<Int>] {
        var ranges = [Range<Int>](repeating: 0..<0, count: headers.count)
        let order = headers.indices.sorted { headers[$0].localOffset < headers[$1].localOffset }
        // Each entry has to end exactly where the next one, or the directory, starts.
        let limits = order.dropFirst().map { headers[$0].localOffset } + [end]
        let first = order.first.map { headers[$0].localOffset } ?? end
        guard first == 0 else { throw error("the first \(first) bytes of the archive belong to no entry", at: 0) }
        for (index, limit) in zip(order, limits) {
            let header = headers[index]
            guard limit <= end else {
                throw error("an entry is said to start at byte \(limit), inside of the directory", at: header.position)
            }
            guard limit > header.localOffset || limit == end else {
                throw error("two entries are said to start at byte \(limit): they overlap", at: limit)
            }
            var reader = ByteReader(bytes[0..<limit], file: file, position: header.localOffset)
            ranges[index] = try header.checkLocal(&reader)
        }
        return ranges
    }
}

/// The end record of an archive, with the location of its directory.
private struct ZipEnd {
    let position: Int
    let entries: Int
    let directory: Range<Int>

    init(_ bytes: ByteView, file: String) throws(FormatError) {
        func rejected(_ reason: String, at position: Int) -> FormatError {
            FormatError(file: file, location: .offset(UInt64(max(position, 0))), reason: reason)
        }
        // A comment after the end record is rejected, because it can hide another archive.
        let endStart = bytes.count - ZipFormat.endBytes
        guard endStart >= 0 else { throw rejected("the file has \(bytes.count) bytes: it is no zip archive", at: 0) }
        var reader = ByteReader(bytes, file: file, position: endStart)
        guard try reader.integer(UInt32.self) == ZipFormat.endSignature else {
            var first = ByteReader(bytes, file: file, position: 0)
            let isArchive = try first.integer(UInt32.self) == ZipFormat.localSignature
            throw rejected(
                isArchive
                    ? "expected the end record of a zip archive without a comment, which the file does not have: it is truncated, "
                        + "or has a comment"
                    : "the file is no zip archive: it does not end like one",
                at: endStart)
        }
        let disks = (try reader.integer(UInt16.self), try reader.integer(UInt16.self))
        let counts = (try reader.integer(UInt16.self), try reader.integer(UInt16.self))
        let size = try reader.integer(UInt32.self)
        let start = try reader.integer(UInt32.self)
        guard try reader.integer(UInt16.self) == 0 else {
            throw rejected("a comment of a length the file does not have", at: endStart)
        }
        guard disks == (0, 0), counts.0 == counts.1 else {
            throw rejected("the archive spans several disks", at: endStart)
        }

        var (last, wideCount, wideSize, wideStart) = (endStart, UInt64(counts.0), UInt64(size), UInt64(start))
        let isWide = counts.0 == .max || size == .max || start == .max
        let locatorStart = endStart - ZipFormat.locatorBytes
        if isWide {
            let end64Start = locatorStart - ZipFormat.end64Bytes
            guard end64Start >= 0 else { throw rejected("the zip64 end record is missing", at: endStart) }
            var locator = ByteReader(bytes, file: file, position: locatorStart)
            guard try locator.integer(UInt32.self) == ZipFormat.locatorSignature, try locator.integer(UInt32.self) == 0,
                try locator.integer(UInt64.self) == UInt64(end64Start), try locator.integer(UInt32.self) == 1
            else { throw rejected("the zip64 end record is not where it has to be", at: locatorStart) }
            var end64 = ByteReader(bytes, file: file, position: end64Start)
            guard try end64.integer(UInt32.self) == ZipFormat.end64Signature,
                try end64.integer(UInt64.self) == UInt64(ZipFormat.end64Bytes - 12)
            else { throw rejected("the zip64 end record is not where it has to be", at: end64Start) }
            _ = try end64.integer(UInt32.self)  // versions
            guard try end64.integer(UInt64.self) == 0 else {
                throw rejected("the archive spans several disks", at: end64Start)
            }
            wideCount = try end64.integer(UInt64.self)
            guard try end64.integer(UInt64.self) == wideCount else {
                throw rejected("the archive spans several disks", at: end64Start)
            }
            wideSize = try end64.integer(UInt64.self)
            wideStart = try end64.integer(UInt64.self)
            guard counts.0 == .max || UInt64(counts.0) == wideCount, size == .max || UInt64(size) == wideSize,
                start == .max || UInt64(start) == wideStart
            else { throw rejected("the two end records disagree", at: end64Start) }
            last = end64Start
        }
        guard wideStart <= UInt64(last), wideSize == UInt64(last) - wideStart else {
            throw rejected(
                "the directory is said to have \(wideSize) bytes from byte \(wideStart), but its end record stands at \(last)",
                at: endStart)
        }
        guard wideCount <= wideSize / UInt64(ZipCentralHeader.leastBytes) else {
            throw rejected("\(wideCount) entries do not fit a directory of \(wideSize) bytes", at: endStart)
        }
        position = last
        entries = Int(wideCount)
        directory = Int(wideStart)..<last
    }
}
