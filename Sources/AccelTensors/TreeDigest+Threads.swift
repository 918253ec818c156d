public import AccelByteIO

extension TreeDigest {
    /// Returns the digest that `digest(of:)` gives, computed on up to `threads` threads.
    public static func digest(of view: ByteView, threads: Int) throws -> Digest {
        combining(try chunkDigests(chunks(of: view), threads: threads))
    }

    /// Returns the digests of several contents; their chunks are shared among `threads` threads.
    /// - Throws: `CancellationError` once the task that the caller runs in is cancelled.
    public static func digests(of views: [ByteView], threads: Int) throws -> [Digest] {
        let chunks = views.map { Self.chunks(of: $0.partBytes > chunkBytes ? $0.resident : $0) }
        let digests = try chunkDigests(chunks.flatMap { $0 }, threads: threads)
        var next = 0
        return chunks.map { chunks in
            defer { next += chunks.count }
            return combining(digests[next..<next + chunks.count])
        }
    }

    private static func chunkDigests(_ chunks: [ByteView], threads: Int) throws -> [Digest] {
        // Few chunks are divided evenly, but not into batches too small for the vectorised digest.
        let step = min(batch, max(batch * 5 / 8, (chunks.count + threads - 1) / max(threads, 1)))
        let starts = Array(stride(from: 0, to: chunks.count, by: step))
        // Only the caller's thread knows whether its task is cancelled: it looks after some 20 milliseconds of work.
        let window = 2 * max(threads, 1)
        return try stride(from: 0, to: starts.count, by: window).flatMap { first in
            try Task.checkCancellation()
            return try Parallel.map(min(window, starts.count - first), threads: threads) {
                let start = starts[first + $0]
                return SHA256.digests(of: Array(chunks[start..<min(start + step, chunks.count)]))
            }.flatMap { $0 }
        }
    }
}
