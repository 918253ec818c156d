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
            throw RequestError("ssh-keygen cannot sign with \(key)\(result.message)", status: .unavailable)
        }
        return result.output
    }

    /// - Throws: `FormatError` naming `file` unless `identity` has signed the message.
    package func check(
        _ message: ByteView, signature: ByteView, file: String, identity: String, allowedSigners: String,
        purpose: String = SSHSignature.namespace
    ) throws -> SSHSignature {
        let parsed = try SSHSignature(signature, file: file, purpose: purpose)
        guard Files.kind(of: allowedSigners) == .file else {
            throw RequestError("there is no file of allowed signers at \(allowedSigners)", status: .unavailable)
        }
        let result = try tool.run(
            [
                "-Y", "verify", "-f", allowedSigners, "-I", identity, "-n", purpose, "-s", "@signature",
            ],
            input: message.withBytes { Array($0) }, files: ["signature": signature.withBytes { Array($0) }])
        guard result.isSuccess else {
            let subject = purpose == SSHSignature.namespace ? "this package" : "this plug-in"
            throw FormatError(
                file: file, reason: "is not \(identity)'s signature of \(subject)\(result.message)")
        }
        return parsed
    }
}
