import AccelByteIO
import AccelHostTools

/// Advice on files of allowed signers.
enum AllowedSigners {
    /// A line of such a file.
    static let example = "me@example.com ssh-ed25519 AAAAC3NzaC1..."

    /// Refuses a public key in place of a file of allowed signers.
    /// - Parameter identity: the one that has to have signed.
    static func refusePublicKey(_ path: String, identity: String?) throws {
        guard let bytes = try? MappedFile(path).bytes, bytes.count < 64 << 10 else { return }
        let words = bytes.withBytes { String(decoding: $0, as: UTF8.self) }.split { $0 == " " || $0.isNewline }
        // A public key begins with its type; a line of signers with the identity.
        guard words.count >= 2, SSHKeygen.publicKeyTypes.contains(where: words[0].hasPrefix),
            words[1].hasPrefix("AAAA")
        else { return }
        throw RequestError(
            "\(path) is a public key, and no file of allowed signers: write a file with the line "
                + "\"\(identity ?? "me@example.com") \(words[0]) \(words[1].prefix(12))...\", an identity before the whole key"
        )
    }
}
