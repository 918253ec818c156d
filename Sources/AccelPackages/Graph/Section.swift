import AccelByteIO
import AccelTensors

/// The location and digest of stored bytes.
package struct Section: Hashable, Sendable {
    var blob: Int
    /// The offset in the blob; a multiple of `PackageFormat.sectionAlignment`.
    var offset: Int
    var byteCount: Int
    /// The `TreeDigest` of the bytes.
    var digest: Digest
}

extension [Section] {
    /// Returns the digest of a blob in the manifest: SHA-256 over the digests of its sections, so that no byte is
    /// hashed twice.
    func digest(ofBlob index: Int) -> Digest {
        TreeDigest.combining(lazy.filter { $0.blob == index }.map(\.digest))
    }
}

extension ElementType {
    /// The number of the type in graph.bin.
    var code: UInt8 {
        switch self {
        case .float64: 0
        case .float32: 1
        case .float16: 2
        case .bfloat16: 3
        case .float8e4m3: 4
        case .float8e5m2: 5
        case .int64: 6
        case .int32: 7
        case .int16: 8
        case .int8: 9
        case .uint64: 10
        case .uint32: 11
        case .uint16: 12
        case .uint8: 13
        case .bool: 14
        }
    }

    private static let byCode = Dictionary(uniqueKeysWithValues: allCases.map { ($0.code, $0) })

    init?(code: UInt8) {
        guard let type = Self.byCode[code] else { return nil }
        self = type
    }
}
