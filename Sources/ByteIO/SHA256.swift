import CKernels

/// SHA-256 (FIPS 180-4). Feed bytes with `update`, then take the digest once with `finalize`.
public struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes after the last whole block: fewer than 64.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    public init() {}

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

    public static func digest(of view: ByteView) -> Digest {
        view.withBytes { digest(of: $0) }
    }

    /// The digests of two contents; the part that both have takes little more time than that of one.
    public static func digests(of first: ByteView, _ second: ByteView) -> (Digest, Digest) {
        var (hash, other) = (SHA256(), SHA256())
        let blocks = min(first.count, second.count) / 64
        first.withBytes { first in
            second.withBytes { second in
                if blocks > 0 {
                    ck_sha256_blocks_two(
                        &hash.state, first.assumingMemoryBound(to: UInt8.self).baseAddress, &other.state,
                        second.assumingMemoryBound(to: UInt8.self).baseAddress, blocks)
                    (hash.count, other.count) = (UInt64(blocks) * 64, UInt64(blocks) * 64)
                }
                hash.update(UnsafeRawBufferPointer(rebasing: first[(blocks * 64)...]))
                other.update(UnsafeRawBufferPointer(rebasing: second[(blocks * 64)...]))
            }
        }
        return (hash.finalize(), other.finalize())
    }

    public static func digest(of text: String) -> Digest {
        digest(of: ByteView(Array(text.utf8)))
    }

    static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }
}
