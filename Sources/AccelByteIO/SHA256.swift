import CAccelKernels

/// SHA-256 (FIPS 180-4). Bytes are added with `update`; `finalize` returns the digest and may be called once.
public struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes after the last complete block: fewer than 64.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    /// Creates a hash of no bytes.
    public init() {}

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var bytes = bytes[...]
        if !rest.isEmpty {
            let taken = min(64 - rest.count, bytes.count)
            rest.append(contentsOf: bytes.prefix(taken))
            bytes = bytes.dropFirst(taken)
            guard rest.count == 64 else { return }
            rest.withUnsafeBufferPointer { ck_sha256_blocks(&state, $0.baseAddress, 1) }
            rest.removeAll(keepingCapacity: true)
        }
        let blocks = bytes.count / 64
        if blocks > 0 {
            let whole = UnsafeRawBufferPointer(rebasing: bytes.prefix(blocks * 64))
            ck_sha256_blocks(&state, whole.assumingMemoryBound(to: UInt8.self).baseAddress, blocks)
        }
        rest.append(contentsOf: bytes.dropFirst(blocks * 64))
    }

    /// Returns the digest of all bytes.
    public mutating func finalize() -> Digest {
        let bits = count &* 8
        var tail = rest
        tail.append(0x80)
        tail.append(contentsOf: repeatElement(0, count: (120 - tail.count) % 64))
        for shift in stride(from: 56, through: 0, by: -8) {
            tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        tail.withUnsafeBufferPointer { ck_sha256_blocks(&state, $0.baseAddress, $0.count / 64) }
        return Digest(
            bytes: state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } })
    }

    /// Returns the digest of a view.
    public static func digest(of view: ByteView) -> Digest {
        view.withBytes { digest(of: $0) }
    }

    /// Returns the digests of several contents, in order. Hashing them together is much faster than one by one.
    public static func digests(of views: [ByteView]) -> [Digest] {
        let views = views.map(\.resident)
        return withExtendedLifetime(views) { digests(of: views.map { view in view.withBytes { $0 } }) }
    }

    static func digests(of views: [UnsafeRawBufferPointer]) -> [Digest] {
        // The longest first, so that finished ones are at the end.
        let order = views.indices.sorted { views[$0].count > views[$1].count }
        let starts = order.map { views[$0].baseAddress?.assumingMemoryBound(to: UInt8.self) }
        var states = order.flatMap { _ in SHA256().state }
        var digests = [Digest](repeating: Digest(bytes: []), count: views.count)
        var done = 0
        for last in order.indices.reversed() {
            let view = views[order[last]]
            let blocks = view.count / 64 - done
            if blocks > 0 {
                let sources = starts[...last].map { $0.map { $0 + done * 64 } }
                ck_sha256_blocks_many(&states, sources, last + 1, blocks)
                done += blocks
            }
            var hash = SHA256()
            (hash.state, hash.count) = (Array(states[8 * last..<8 * last + 8]), UInt64(done) * 64)
            hash.update(UnsafeRawBufferPointer(rebasing: view[(done * 64)...]))
            digests[order[last]] = hash.finalize()
        }
        return digests
    }

    /// Returns the digest of the text's UTF-8.
    public static func digest(of text: String) -> Digest {
        digest(of: ByteView(Array(text.utf8)))
    }

    static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }
}
