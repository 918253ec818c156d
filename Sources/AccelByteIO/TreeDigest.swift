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

/// The `TreeDigest` of content that comes in parts.
struct TreeHasher {
    private var chunks: [Digest] = []
    /// The hash of a chunk that began in an earlier part, and its bytes so far.
    private var open = (hash: SHA256(), count: 0)

    /// Adds bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        if open.count > 0 { add(rest.prefix(TreeDigest.chunkBytes - open.count), &rest) }
        while rest.count >= TreeDigest.chunkBytes {
            let whole = rest.prefix(rest.count / TreeDigest.chunkBytes * TreeDigest.chunkBytes)
                .prefix(TreeDigest.batch * TreeDigest.chunkBytes)
            chunks += SHA256.digests(
                of: stride(from: whole.startIndex, to: whole.endIndex, by: TreeDigest.chunkBytes).map {
                    UnsafeRawBufferPointer(rebasing: whole[$0..<$0 + TreeDigest.chunkBytes])
                })
            rest = rest.dropFirst(whole.count)
        }
        if !rest.isEmpty { add(rest, &rest) }
    }

    private mutating func add(_ part: Slice<UnsafeRawBufferPointer>, _ rest: inout Slice<UnsafeRawBufferPointer>) {
        open.hash.update(UnsafeRawBufferPointer(rebasing: part))
        open.count += part.count
        rest = rest.dropFirst(part.count)
        if open.count == TreeDigest.chunkBytes { close() }
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
