/// A digest of content in chunks: SHA-256 over the concatenated SHA-256 digests of consecutive 1 MiB chunks (the last
/// one may be shorter; empty content has none). Chunks can be hashed in parallel, by several threads and several at a
/// time on each.
public enum TreeDigest {
    /// The size of a chunk.
    public static let chunkBytes = 1 << 20
    /// The number of chunks that are hashed together, chosen for speed.
    public static let batch = 16

    /// Returns the digest of a view.
    public static func digest(of view: ByteView) -> Digest {
        let chunks = chunks(of: view)
        return combining(
            stride(from: 0, to: chunks.count, by: batch).flatMap {
                SHA256.digests(of: Array(chunks[$0..<min($0 + batch, chunks.count)]))
            })
    }

    /// Returns the chunks of a view, without copying them.
    public static func chunks(of view: ByteView) -> [ByteView] {
        stride(from: 0, to: view.count, by: chunkBytes).map { view[$0..<min($0 + chunkBytes, view.count)] }
    }

    /// Returns the digest of content from the digests of its chunks, in order.
    public static func combining(_ chunks: some Sequence<Digest>) -> Digest {
        SHA256.digest(of: ByteView(chunks.flatMap(\.bytes)))
    }
}
