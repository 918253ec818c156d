import AccelByteIO
import AccelPackages

/// The program `ssh-keygen -Y`: signs with any SSH key (file, agent or token), and checks whose key a signature is
/// from.
struct SSHKeygen {
    private let tool: ExternalTool

    init() throws { tool = try ExternalTool("ssh-keygen", need: "sign packages and to check their signatures") }

    /// - Returns: the signature, armored.
    func sign(_ message: ByteView, key: String) throws -> [UInt8] {
        let result = try tool.run(
            ["-Y", "sign", "-f", key, "-n", SSHSignature.namespace], input: message.withBytes { Array($0) })
        guard result.isSuccess, !result.output.isEmpty else {
            throw RequestError("ssh-keygen cannot sign with \(key)\(result.message)", status: .unavailable)
        }
        return result.output
    }

    /// - Throws: `FormatError` naming `file` unless `identity` has signed the message.
    func check(
        _ message: ByteView, signature: ByteView, file: String, identity: String, allowedSigners: String
    ) throws -> SSHSignature {
        let parsed = try SSHSignature(signature, file: file)
        guard Files.kind(of: allowedSigners) == .file else {
            throw RequestError("there is no file of allowed signers at \(allowedSigners)", status: .unavailable)
        }
        let result = try tool.run(
            [
                "-Y", "verify", "-f", allowedSigners, "-I", identity, "-n", SSHSignature.namespace, "-s", "@signature",
            ],
            input: message.withBytes { Array($0) }, files: ["signature": signature.withBytes { Array($0) }])
        guard result.isSuccess else {
            throw FormatError(
                file: file, reason: "is not \(identity)'s signature of this package\(result.message)")
        }
        return parsed
    }
}
