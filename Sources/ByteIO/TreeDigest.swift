/// The digest of content in parts: SHA-256 over the concatenated SHA-256 digests of consecutive 1 MiB chunks (the last
/// one shorter; no content has no chunks). It can be computed by several threads.
public enum TreeDigest {
    public static let chunkBytes = 1 << 20

    public static func digest(of view: ByteView) -> Digest {
        combining((0..<chunkCount(of: view)).map { digest(ofChunk: $0, of: view) })
    }

    /// The number of chunks that `view` has.
    public static func chunkCount(of view: ByteView) -> Int {
        view.count / chunkBytes + (view.count % chunkBytes == 0 ? 0 : 1)
    }

    /// The digest of one chunk.
    /// - Parameter index: in `0..<chunkCount(of: view)`.
    public static func digest(ofChunk index: Int, of view: ByteView) -> Digest {
        let start = index * chunkBytes
        return SHA256.digest(of: view[start..<start + min(chunkBytes, view.count - start)])
    }

    /// The digest of content from those of its chunks, in their order.
    public static func combining(_ chunks: [Digest]) -> Digest {
        SHA256.digest(of: ByteView(chunks.flatMap(\.bytes)))
    }
}
