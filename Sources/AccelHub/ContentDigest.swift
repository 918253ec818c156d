import AccelByteIO

/// The digest by which the Hub names the content of a file. It is the file's etag, and the name of its blob in the cache.
enum ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// SHA-256 of a large file's content, as 64 hexadecimal digits.
    case sha256(String)
    /// SHA-1 of a git blob, as 40 hexadecimal digits.
    case gitBlob(String)

    /// Returns nil for a text that is neither, whether or not it is quoted as an etag.
    init?(etag: String) {
        let text = etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...]
        let digits = text.hasPrefix("\"") && text.hasSuffix("\"") ? text.dropFirst().dropLast() : text
        if Digest.isHexadecimal(digits, 64...64) {
            self = .sha256(String(digits))
        } else if Digest.isHexadecimal(digits, 40...40) {
            self = .gitBlob(String(digits))
        } else {
            return nil
        }
    }

    /// The name of the blob.
    var etag: String {
        switch self {
        case .sha256(let digits), .gitBlob(let digits): digits
        }
    }

    var description: String {
        switch self {
        case .sha256(let digits): "sha256 \(digits)"
        case .gitBlob(let digits): "git blob \(digits)"
        }
    }
}

/// Computes the digest of content that arrives in parts.
struct ContentHasher {
    private enum Hash {
        case sha256(SHA256)
        case sha1(SHA1)
    }
    private var hash: Hash

    /// - Parameter byteCount: the size of the whole content, with which a git blob begins.
    init(like digest: ContentDigest, byteCount: Int) {
        switch digest {
        case .sha256: hash = .sha256(SHA256())
        case .gitBlob:
            var sha1 = SHA1()
            Array("blob \(byteCount)\0".utf8).withUnsafeBytes { sha1.update($0) }
            hash = .sha1(sha1)
        }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch hash {
        case .sha256(var sha256):
            sha256.update(bytes)
            hash = .sha256(sha256)
        case .sha1(var sha1):
            sha1.update(bytes)
            hash = .sha1(sha1)
        }
    }

    func finalized() -> ContentDigest {
        switch hash {
        case .sha256(var sha256): .sha256("\(sha256.finalize())")
        case .sha1(var sha1): .gitBlob(sha1.finalize())
        }
    }
}
