extension ByteView {
    /// CRC-32 as zip and gzip have it. Finds accidents, not forgeries.
    public var crc32: UInt32 { Deflate.checksum(of: self) }
}
