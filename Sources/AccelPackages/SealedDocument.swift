import AccelByteIO

/// A JSON document whose first member, `digest`, is the SHA-256 of all its other bytes.
enum SealedDocument {
    private static let prefix = "{\"digest\":\""
    private static let suffix = "\","

    /// - Parameter body: an object with at least one other member.
    static func text(of body: JSON) -> String {
        let body = body.text()
        return prefix + "\(SHA256.digest(of: body))" + suffix + body.dropFirst()
    }

    /// Returns the digest in the first member, after a comparison with the other bytes.
    static func checkedDigest(of bytes: ByteView, file: String) throws -> Digest {
        let (prefix, suffix) = (Array(prefix.utf8), Array(suffix.utf8))
        let end = prefix.count + 64 + suffix.count
        let claimed = bytes.withBytes { bytes -> Digest? in
            guard bytes.count >= end, bytes.prefix(prefix.count).elementsEqual(prefix),
                bytes[(end - suffix.count)..<end].elementsEqual(suffix)
            else { return nil }
            return Digest(
                hexadecimal: String(decoding: bytes[prefix.count..<end - suffix.count], as: UTF8.self))
        }
        guard let claimed else {
            throw FormatError(
                file: file, location: .offset(0), reason: "expected the member \"digest\" of 64 digits to stand first")
        }
        var hash = SHA256()
        Array("{".utf8).withUnsafeBytes { hash.update($0) }
        bytes[end..<bytes.count].withBytes { hash.update($0) }
        let found = hash.finalize()
        guard found == claimed else {
            throw FormatError(
                file: file, location: .field("digest"),
                reason: "the document says \(claimed), but its bytes have \(found): it was changed after it was written"
            )
        }
        return claimed
    }
}
