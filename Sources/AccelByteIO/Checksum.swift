extension ByteView {
    /// The CRC-32 of zip and gzip. It detects accidental changes only.
    public var crc32: UInt32 { Deflate.checksum(of: self) }
}
