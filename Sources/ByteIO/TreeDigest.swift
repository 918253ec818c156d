/// The digest of content in parts: SHA-256 over the concatenated SHA-256 digests of consecutive 1 MiB chunks (the last
/// one shorter; no content has no chunks). It can be computed by several threads.
public enum TreeDigest {
    public static let chunkBytes = 1 << 20

    public static func digest(of view: ByteView) -> Digest {
        combining((0..<pairCount(of: view)).map { digests(ofPair: $0, of: view) })
    }

    /// The number of pairs of chunks that `view` has; the last may be a single chunk.
    public static func pairCount(of view: ByteView) -> Int {
        view.count / (2 * chunkBytes) + (view.count % (2 * chunkBytes) == 0 ? 0 : 1)
    }

    /// The digests of two neighbouring chunks, which take little more time than one.
    /// - Parameter index: in `0..<pairCount(of: view)`.
    public static func digests(ofPair index: Int, of view: ByteView) -> [Digest] {
        let pair = view[2 * index * chunkBytes..<min(2 * (index + 1) * chunkBytes, view.count)]
        if pair.count <= chunkBytes { return [SHA256.digest(of: pair)] }
        let (first, second) = SHA256.digests(of: pair[0..<chunkBytes], pair[chunkBytes..<pair.count])
        return [first, second]
    }

    /// The digest of content from those of its pairs of chunks, in their order.
    public static func combining(_ pairs: some Sequence<[Digest]>) -> Digest {
        SHA256.digest(of: ByteView(pairs.flatMap { $0.flatMap(\.bytes) }))
    }
}
