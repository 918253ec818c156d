import AccelByteIO
package import AccelPackages

/// The program `openssl`, for signatures with elliptic-curve keys.
package struct OpenSSL {
    private let tool: ExternalTool

    package init() throws { tool = try ExternalTool("openssl", need: "make and check OpenSSF model signatures") }

    /// A public key with the values that model signatures need.
    private struct PublicKey {
        /// SubjectPublicKeyInfo in PEM, as openssl writes it.
        let pem: [UInt8]
        /// The hash function for the key's curve.
        let hash: String
        var hint: Digest { SHA256.digest(of: ByteView(pem)) }
    }

    /// The first bytes of the SubjectPublicKeyInfo of a key on each curve, and the hash function for the curve.
    private static let curves: [(prefix: [UInt8], hash: String)] = [
        (
            [
                0x30, 0x59, 0x30, 0x13, 6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3,
                1, 7,
            ], "sha256"
        ),
        ([0x30, 0x76, 0x30, 0x10, 6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 5, 0x2B, 0x81, 4, 0, 0x22], "sha384"),
        (
            [0x30, 0x81, 0x9B, 0x30, 0x10, 6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 5, 0x2B, 0x81, 4, 0, 0x23],
            "sha512"
        ),
    ]

    /// - Parameter isPrivate: the file holds a private key; only its public half is read from openssl.
    private func publicKey(_ path: String, isPrivate: Bool) throws -> PublicKey {
        let result = try tool.run(
            ["pkey"] + (isPrivate ? [] : ["-pubin"]) + ["-in", path, "-pubout"], input: [])
        guard result.isSuccess else {
            let (kind, remedy) =
                isPrivate
                ? ("private", "openssl ecparam -name prime256v1 -genkey -noout -out KEY makes one")
                : ("public", "openssl pkey -in KEY -pubout -out PEM writes that of a private key")
            throw RequestError(
                "\(path) is no \(kind) key in PEM that openssl reads\(result.message); \(remedy)", status: .unavailable)
        }
        let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
        let bytes = Base64.bytes(of: lines.filter { !$0.hasPrefix("-") }.joined()) ?? []
        guard let curve = Self.curves.first(where: { bytes.starts(with: $0.prefix) }) else {
            throw RequestError(
                "\(path) is no key on the curves P-256, P-384 or P-521; make one by openssl ecparam -name prime256v1 -genkey"
            )
        }
        return PublicKey(pem: result.output, hash: curve.hash)
    }

    package func sign(_ payload: [UInt8], key: String) throws -> ModelSignature {
        let publicKey = try publicKey(key, isPrivate: true)
        let result = try tool.run(
            ["dgst", "-\(publicKey.hash)", "-sign", key], input: ModelSignature.signedBytes(of: payload))
        guard result.isSuccess, !result.output.isEmpty else {
            throw RequestError("openssl cannot sign with \(key)\(result.message)", status: .unavailable)
        }
        return ModelSignature(payload: payload, signature: result.output, keyHint: publicKey.hint)
    }

    /// Checks a signature.
    /// - Throws: `FormatError` naming `file` unless that key made the signature.
    package func check(_ signature: ModelSignature, file: String, publicKey path: String) throws {
        let key = try publicKey(path, isPrivate: false)
        if let hint = signature.keyHint, hint != key.hint {
            throw FormatError(file: file, reason: "is by the key \(hint), and not by the one in \(path), \(key.hint)")
        }
        let result = try tool.run(
            ["dgst", "-\(key.hash)", "-verify", "@key", "-signature", "@signature"], input: signature.signedBytes,
            files: ["key": key.pem, "signature": signature.signature])
        guard result.isSuccess else { throw FormatError(file: file, reason: "is not by the key in \(path)") }
    }
}
