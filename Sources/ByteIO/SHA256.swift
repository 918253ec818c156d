import CKernels

/// 32 bytes that name some content.
public struct Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// 64 lower-case hexadecimal digits.
    public init?(hexadecimal: String) { fatalError("helper") }
    public var description: String { fatalError("helper") }
    public static func < (left: Digest, right: Digest) -> Bool { fatalError("helper") }
}

/// SHA-256 (FIPS 180-4).
public struct SHA256 {
    public init() {}
    public mutating func update(_ bytes: UnsafeRawBufferPointer) { fatalError("helper") }
    public mutating func finalize() -> Digest { fatalError("helper") }
    public static func digest(of view: ByteView) -> Digest { fatalError("helper") }
    public static func digest(of text: String) -> Digest { fatalError("helper") }
}

/// The digest of content in parts: SHA-256 over the concatenated SHA-256 digests of consecutive 1 MiB chunks (the last
/// one shorter; no content has no chunks). It can be computed by several threads.
public enum TreeDigest {
    public static let chunkBytes = 1 << 20
    public static func digest(of view: ByteView) -> Digest { fatalError("helper") }
}
