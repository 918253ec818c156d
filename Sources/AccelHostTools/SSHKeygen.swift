package import AccelByteIO
package import AccelPackages

/// The program `ssh-keygen -Y`: signs with any SSH key (file, agent or token), and checks whose key a signature is
/// from.
package struct SSHKeygen {
    private let tool: ExternalTool

    package init() throws { tool = try ExternalTool("ssh-keygen", need: "sign packages and to check their signatures") }

    /// - Returns: the signature, armored.
    package func sign(_ message: ByteView, key: String, purpose: String = SSHSignature.namespace) throws -> [UInt8] {
        let result = try tool.run(
            ["-Y", "sign", "-f", key, "-n", purpose], input: message.withBytes { Array($0) })
        guard result.isSuccess, !result.output.isEmpty else {
            throw RequestError(Self.problem(of: key, result.message), status: .unavailable)
        }
        return result.output
    }

    /// The starts of the types of public keys, with which their files begin.
    package static let publicKeyTypes = ["ssh-", "ecdsa-", "sk-"]

    /// Returns why ssh-keygen cannot sign with a key, by what the key's file holds.
    private static func problem(of key: String, _ message: String) -> String {
        let bytes = try? MappedFile(key).bytes
        let start = bytes?.withBytes { String(decoding: $0.prefix(1 << 10), as: UTF8.self) } ?? ""
        if start.hasPrefix("-----BEGIN "), start.contains("PRIVATE KEY-----") {
            if let access = Files.access(of: key), access.owner == Files.user, access.mode & 0o077 != 0 {
                return "ssh-keygen does not sign with \(key), which others may read: chmod 600 \(key)"
            }
            if message.contains("load public key") {
                return "ssh-keygen does not sign with \(key) without its public key beside it: "
                    + "ssh-keygen -y -f \(key) > \(key).pub"
            }
        } else if !publicKeyTypes.contains(where: start.hasPrefix) {
            return "\(key) is no private key of SSH; ssh-keygen -t ed25519 -f KEY makes one"
        } else if message.contains("No private key found") {
            return "\(key) is a public key, and no agent has its private key: give that key's file, or add it (ssh-add)"
        }
        return "ssh-keygen cannot sign with \(key)\(message)"
    }

    /// Signs a package for a release.
    /// - Returns: the content of the signature's file: the armored signature, and behind it the line that states the release.
    package func sign(_ package: AcceleratorPackage, for release: SignedRelease, key: String) throws -> [UInt8] {
        let content = try package.signedContent(for: release)
        let signature = try sign(content, key: key)
        guard release != .unstated else { return signature }
        let isWholeLine = signature.last == UInt8(ascii: "\n")
        return signature + (isWholeLine ? [] : [UInt8(ascii: "\n")]) + content.withBytes { Array($0) }
    }

    /// - Returns: the signature, and the release that it states.
    /// - Throws: `FormatError` naming `file` unless `identity` has signed the package; `UnknownSigner` if the file of allowed
    ///   signers has no key of it.
    package func check(
        _ package: AcceleratorPackage, signature: ByteView, file: String, identity: String, allowedSigners: String
    ) throws -> (signature: SSHSignature, release: SignedRelease) {
        let parsed = try SSHSignature(signature, file: file)
        let (content, release) = try package.signedContent(of: parsed, file: file)
        try check(
            content, parsed, file: file, identity: identity, allowedSigners: allowedSigners,
            purpose: SSHSignature.namespace)
        return (parsed, release)
    }

    /// - Throws: `FormatError` naming `file` unless `identity` has signed the message; `UnknownSigner` if the file of allowed
    ///   signers has no key of it.
    package func check(
        _ message: ByteView, _ parsed: SSHSignature, file: String, identity: String, allowedSigners: String,
        purpose: String
    ) throws {
        guard Files.kind(of: allowedSigners) == .file else {
            throw RequestError(
                Files.brokenLink(allowedSigners) ?? "there is no file of allowed signers at \(allowedSigners)",
                status: .unavailable)
        }
        let result = try tool.run(
            [
                "-Y", "verify", "-f", allowedSigners, "-I", identity, "-n", purpose, "-s", "@signature",
            ],
            input: message.withBytes { Array($0) }, files: ["signature": parsed.armor.withBytes { Array($0) }])
        guard result.isSuccess else {
            guard try hasKey(of: identity, in: allowedSigners) else {
                throw UnknownSigner(identity: identity, allowedSigners: allowedSigners)
            }
            let subject = purpose == SSHSignature.namespace ? "this package" : "this plug-in"
            throw FormatError(
                file: file, reason: "is not \(identity)'s signature of \(subject)\(result.message)")
        }
    }

    /// Returns whether a file of allowed signers has a key of an identity; true if this ssh-keygen cannot tell.
    private func hasKey(of identity: String, in allowedSigners: String) throws -> Bool {
        let result = try tool.run(["-Y", "match-principals", "-f", allowedSigners, "-I", identity], input: [])
        return result.isSuccess || !result.message.contains("No principal matched")
    }
}

/// A file of allowed signers has no key of an identity, so that nothing counts as signed by it.
package struct UnknownSigner: ReportedError {
    let identity: String
    let allowedSigners: String

    package var exitStatus: ExitStatus { .usage }

    package var description: String {
        "\(allowedSigners) has no key of \(identity): it needs a line with the identity and the public key, such as "
            + "\"\(identity) ssh-ed25519 AAAAC3NzaC1...\""
    }
}
