/// A file that appears under its name whole or not at all: bytes go to a temporary sibling, `commit` syncs and renames.
/// Without `commit` the temporary file is removed.
public struct AtomicFile: ~Copyable {
    public init(replacing path: String, mode: UInt16 = 0o644) throws { fatalError("helper") }
    /// Bytes written so far.
    public var count: Int { fatalError("helper") }
    public mutating func write(_ bytes: UnsafeRawBufferPointer) throws { fatalError("helper") }
    public mutating func write(_ view: ByteView) throws { fatalError("helper") }
    public mutating func write(_ text: String) throws { fatalError("helper") }
    /// Writes zeros up to the next multiple of `alignment`.
    public mutating func pad(to alignment: Int) throws { fatalError("helper") }
    public consuming func commit() throws { fatalError("helper") }
}

/// The same for a folder: files are made in a temporary sibling, `commit` syncs and renames it (an old folder of that
/// name is replaced).
public struct AtomicFolder: ~Copyable {
    /// Where to make the files.
    public let path: String
    public init(replacing path: String) throws { fatalError("helper") }
    public consuming func commit() throws { fatalError("helper") }
}
