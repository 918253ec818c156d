/// The digest of content in parts: SHA-256 over the concatenated SHA-256 digests of consecutive 1 MiB chunks (the last
/// one shorter; no content has no chunks). Chunks can be hashed by several threads, and several at a time by each.
public enum TreeDigest {
    public static let chunkBytes = 1 << 20
    /// So many chunks at a time are fastest.
    public static let batch = 16

    public static func digest(of view: ByteView) -> Digest {
        let chunks = chunks(of: view)
        return combining(
            stride(from: 0, to: chunks.count, by: batch).flatMap {
                SHA256.digests(of: Array(chunks[$0..<min($0 + batch, chunks.count)]))
            })
    }

    public static func chunks(of view: ByteView) -> [ByteView] {
        stride(from: 0, to: view.count, by: chunkBytes).map { view[$0..<min($0 + chunkBytes, view.count)] }
    }

    /// The digest of content from those of its chunks, in their order.
    public static func combining(_ chunks: some Sequence<Digest>) -> Digest {
        SHA256.digest(of: ByteView(chunks.flatMap(\.bytes)))
    }
}
