/// An archive whose directory has been checked: names stay inside, entries fill the archive one after the other without
/// overlap or gap, the two headers of each agree, sizes are within limits.
public struct ZipArchive: Sendable {
    /// What an archive may cost before it is refused.
    public struct Limits: Sendable {
        public var entries: Int
        /// Of all compressed entries together, unpacked.
        public var unpackedBytes: Int
        /// Unpacked over packed size of a compressed entry.
        public var ratio: Int
        public init(entries: Int = 100_000, unpackedBytes: Int = 4 << 30, ratio: Int = 1000) {
            self.entries = entries
            self.unpackedBytes = unpackedBytes
            self.ratio = ratio
        }
    }

    public struct Entry: Sendable {
        public let name: String
        public let size: Int
        /// Whether the content is compressed; otherwise it can be mapped.
        public let isCompressed: Bool
        let checksum: UInt32
        /// Where the content stands in the archive, as it is stored.
        let range: Range<Int>
    }

    /// Files, in the order of the archive's directory.
    public let entries: [Entry]
    private let indexes: [String: Int]
    private let bytes: ByteView
    private let file: String

    public init(_ file: MappedFile) throws {
        try self.init(file.bytes, file: file.path)
    }

    /// - Parameter bytes: the whole archive.
    /// - Parameter file: what errors call it.
    public init(_ bytes: ByteView, file: String, limits: Limits = Limits()) throws(FormatError) {
        let entries = try ZipDirectory(bytes, file: file, limits: limits).entries
        self.bytes = bytes
        self.file = file
        self.entries = entries
        indexes = Dictionary(entries.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    public subscript(name: String) -> Entry? { indexes[name].map { entries[$0] } }

    /// The content, with its checksum verified; a view into the map when it is stored without compression.
    /// - Throws: `FormatError` when there is no such entry, or its content is damaged.
    public func content(of name: String) throws -> ByteView {
        guard let entry = self[name] else {
            throw FormatError(file: file, reason: "the archive has no entry \(quoted(name))")
        }
        let packed = bytes[entry.range]
        func damaged(_ reason: String) -> FormatError {
            FormatError(
                file: file, place: .offset(UInt64(entry.range.lowerBound)), reason: "entry \(quoted(name)) \(reason)")
        }
        let content = entry.isCompressed ? Deflate.decompress(packed, size: entry.size) : packed
        guard let content else { throw damaged("is not a deflate stream of \(entry.size) bytes") }
        guard Deflate.checksum(of: content) == entry.checksum else { throw damaged("does not fit its checksum") }
        return content
    }

    /// The content of an entry that is stored without compression, a view into the map, not read: its checksum is not
    /// verified. nil when there is no such entry or it is compressed.
    public func storedBytes(of name: String) -> ByteView? {
        self[name].flatMap { $0.isCompressed ? nil : bytes[$0.range] }
    }
}
