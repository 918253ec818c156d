import Accel
import AccelByteIO
import AccelHostTools
import BackendConformance
import Foundation
import TestSupport
import Testing

@Suite(
    "Plug-ins and packages signed with SSH keys",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/ssh-keygen"), "needs ssh-keygen"))
struct SignedPluginTests {
    private static func keygen(_ words: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/ssh-keygen")
        process.arguments = words
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RequestError("ssh-keygen failed: \(words)") }
    }

    @Test("a signed plug-in loads; unsigned, changed, signed by another, or as a package, it does not")
    func plugin() async throws {
        let plugin = try SumPlugin()
        let (key, signers, signature) = ("\(plugin.folder)/key", "\(plugin.folder)/signers", "\(plugin.path).sig")
        try Self.keygen(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key])
        let publicKey = try String(contentsOfFile: "\(key).pub", encoding: .utf8)
        try Data("alice@example.org \(publicKey)".utf8).write(to: URL(filePath: signers))
        let alice = SSHSignatureVerifier(allowedSigners: signers, identities: ["bob@example.org", "alice@example.org"])
        func rejected(_ words: String, by verifier: SSHSignatureVerifier) {
            let error = #expect(throws: AccelError.self) {
                try PluginBackend(at: plugin.path, trust: .signed(verifier))
            }
            #expect(error?.code == .untrusted, "\(words)")
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
        rejected("is not signed: there is no \(signature)", by: alice)
        try Self.keygen(["-Y", "sign", "-q", "-f", key, "-n", SSHSignature.namespace, plugin.path])
        rejected("it says nothing of a plug-in", by: alice)
        try FileManager.default.removeItem(atPath: signature)
        try Self.keygen(["-Y", "sign", "-q", "-f", key, "-n", SSHSignature.pluginNamespace, plugin.path])
        _ = try PluginBackend(at: plugin.path, trust: .signed(alice))
        let bob = SSHSignatureVerifier(allowedSigners: signers, identities: ["bob@example.org"])
        rejected("\(signers) has no key of bob@example.org: it needs a line with the identity", by: bob)
        rejected("no signer is accepted", by: SSHSignatureVerifier(allowedSigners: signers, identities: []))
        var bytes = try Data(contentsOf: URL(filePath: plugin.path))
        bytes[bytes.count - 1] ^= 1
        // The loaded library stays mapped as it was.
        try FileManager.default.removeItem(atPath: plugin.path)
        try bytes.write(to: URL(filePath: plugin.path))
        rejected("signature of this plug-in", by: alice)

        let path = try plugin.conformanceCase().path
        let unsigned = await #expect(throws: AccelError.self) {
            _ = try await AccelModel(.path(path), trust: .signed(alice))
        }
        #expect(unsigned?.code == .untrusted)
        let manifest = "\(plugin.folder)/manifest"
        try FileManager.default.copyItem(atPath: "\(path)/manifest.json", toPath: manifest)
        try Self.keygen(["-Y", "sign", "-q", "-f", key, "-n", SSHSignature.namespace, manifest])
        try FileManager.default.moveItem(atPath: "\(manifest).sig", toPath: "\(path).sig")
        _ = try await AccelModel(.path(path), trust: .signed(alice))
    }
}
