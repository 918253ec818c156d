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
        let chunks = chunks(of: view.partBytes > chunkBytes ? view.resident : view)
        return combining(
            stride(from: 0, to: chunks.count, by: batch).flatMap {
                SHA256.digests(of: Array(chunks[$0..<min($0 + batch, chunks.count)]))
            })
    }

    /// Returns the digest of content that is given in parts.
    public static func digest(of parts: [ByteView]) -> Digest {
        var hasher = TreeHasher()
        for part in parts { part.withBytes { hasher.update($0) } }
        return hasher.finalize()
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

/// The `TreeDigest` of content that comes in parts.
struct TreeHasher {
    private var chunks: [Digest] = []
    /// The hash of a chunk that began in an earlier part, and its bytes so far.
    private var open = (hash: SHA256(), count: 0)

    /// Adds bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let isWhole = open.count == 0 && rest.count >= TreeDigest.chunkBytes
            let part = isWhole ? wholeChunks(of: rest) : rest.prefix(TreeDigest.chunkBytes - open.count)
            rest = rest.dropFirst(part.count)
            if isWhole { continue }
            open.hash.update(UnsafeRawBufferPointer(rebasing: part))
            open.count += part.count
            if open.count == TreeDigest.chunkBytes { close() }
        }
    }

    /// Hashes the chunks at the start of bytes together, and returns them.
    private mutating func wholeChunks(of bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let size = TreeDigest.chunkBytes
        let part = bytes.prefix(min(bytes.count / size, TreeDigest.batch) * size)
        chunks += SHA256.digests(
            of: stride(from: part.startIndex, to: part.endIndex, by: size).map {
                UnsafeRawBufferPointer(rebasing: part[$0..<$0 + size])
            })
        return part
    }

    private mutating func close() {
        chunks.append(open.hash.finalize())
        open = (SHA256(), 0)
    }

    /// Returns the digest of all bytes; to be asked once.
    mutating func finalize() -> Digest {
        if open.count > 0 { close() }
        return TreeDigest.combining(chunks)
    }
}
