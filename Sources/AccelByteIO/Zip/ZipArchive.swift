/// A zip archive with a checked directory: names stay inside, entries fill the archive consecutively without overlap or
/// gap, the two headers of each entry agree, and sizes are within limits.
public struct ZipArchive: Sendable {
    /// Limits of an archive; beyond them it is rejected.
    public struct Limits: Sendable {
        /// The number of entries.
        public var entries: Int
        /// The total uncompressed size of all compressed entries.
        public var unpackedBytes: Int
        /// The ratio of uncompressed to compressed size of an entry.
        public var ratio: Int
        /// Creates limits.
        public init(entries: Int = 100_000, unpackedBytes: Int = 4 << 30, ratio: Int = 1000) {
            self.entries = entries
            self.unpackedBytes = unpackedBytes
            self.ratio = ratio
        }
    }

    /// A file in the archive.
    public struct Entry: Sendable {
        /// The path in the archive, with `/` between its components.
        public let name: String
        /// The uncompressed size in bytes.
        public let size: Int
        /// The content is compressed; if false, it can be mapped.
        public let isCompressed: Bool
        let checksum: UInt32
        /// The range of the stored content in the archive.
        let range: Range<Int>
    }

    /// The files, in the order of the archive's directory.
    public let entries: [Entry]
    private let indexes: [String: Int]
    private let bytes: ByteView
    private let file: String

    /// Checks the directory of a mapped archive.
    /// - Throws: `FormatError` with the offset.
    public init(_ file: MappedFile) throws {
        try self.init(file.bytes, file: file.path)
    }

    /// Checks the directory of an archive in memory.
    /// - Parameter bytes: the whole archive.
    /// - Parameter file: its name in errors.
    public init(_ bytes: ByteView, file: String, limits: Limits = Limits()) throws(FormatError) {
        let entries = try ZipDirectory(bytes, file: file, limits: limits).entries
        self.bytes = bytes
        self.file = file
        self.entries = entries
        indexes = Dictionary(entries.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The entry of a name; nil if there is none.
    public subscript(name: String) -> Entry? { indexes[name].map { entries[$0] } }

    /// Returns the content of an entry, with its checksum verified; a view of the map if it is not compressed.
    /// - Throws: `FormatError` if there is no such entry, or if its content is corrupt.
    public func content(of name: String) throws -> ByteView {
        guard let entry = self[name] else {
            throw FormatError(file: file, reason: "the archive has no entry \(quoted(name))")
        }
        let packed = bytes[entry.range]
        func damaged(_ reason: String) -> FormatError {
            FormatError(
                file: file, location: .offset(UInt64(entry.range.lowerBound)), reason: "entry \(quoted(name)) \(reason)"
            )
        }
        let content = entry.isCompressed ? Deflate.decompress(packed, size: entry.size) : packed
        guard let content else { throw damaged("is not a deflate stream of \(entry.size) bytes") }
        guard Deflate.checksum(of: content) == entry.checksum else { throw damaged("does not fit its checksum") }
        return content
    }

    /// Returns the content of an entry that is not compressed, as a view of the map. The checksum is not verified, so
    /// nothing is read. nil if there is no such entry, or if it is compressed.
    public func storedBytes(of name: String) -> ByteView? {
        self[name].flatMap { $0.isCompressed ? nil : bytes[$0.range] }
    }
}
