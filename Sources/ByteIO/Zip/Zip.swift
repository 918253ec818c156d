/// Writes a zip archive (deflate through zlib, zip64 where needed), with fixed times so that equal content gives equal bytes.
public struct ZipWriter: ~Copyable {
    public init(replacing path: String) throws { fatalError("helper") }
    /// - Parameter name: relative, with `/` between its parts.
    /// - Parameter alignment: of the first content byte in the archive; for entries to be mapped (stored, not deflated).
    public mutating func append(_ name: String, _ content: ByteView, compressed: Bool, alignment: Int = 1) throws {
        fatalError("helper")
    }
    public consuming func commit() throws { fatalError("helper") }
}

/// An archive whose directory has been checked: names stay inside, no entry overlaps another, sizes are within limits.
public struct ZipArchive: Sendable {
    public struct Entry: Sendable {
        public let name: String
        public let size: Int
    }
    public let entries: [Entry]
    public init(_ file: MappedFile) throws { fatalError("helper") }
    /// The content, with its CRC checked; a view into the map when it is stored without compression.
    public func content(of name: String) throws -> ByteView { fatalError("helper") }
}
