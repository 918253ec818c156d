public import ByteIO

extension TreeDigest {
    /// The same digest as `digest(of:)`, computed on up to `threads` threads.
    public static func digest(of view: ByteView, threads: Int) throws -> Digest {
        combining(try Parallel.map(pairCount(of: view), threads: threads) { digests(ofPair: $0, of: view) })
    }
}
