import AccelByteIO
import AccelPackages
import TestSupport

extension FuzzTarget {
    static let sshSignature = FuzzTarget(name: "ssh-signature", seeds: Attack.sshSignatures.map(\.bytes)) { bytes in
        let signature = try SSHSignature(bytes, file: "fuzz")
        precondition(signature.namespace == SSHSignature.namespace)
    }

    /// The payload is what a key has signed; a fuzzer has no key, so it is fed as it is, too.
    static let modelSignature = FuzzTarget(
        name: "model-signature", seeds: [Attack.modelStatement, Attack.modelSignature].map { Array($0.utf8) }
    ) { bytes in
        _ = try? ModelStatement(bytes.withBytes { Array($0) }, file: "fuzz")
        let signature = try ModelSignature(bytes, file: "fuzz")
        guard let again = try? ModelSignature(ByteView(Array(signature.text.utf8)), file: "fuzz") else {
            preconditionFailure("a written signature does not read back")
        }
        precondition(again.payload == signature.payload && again.signature == signature.signature)
        _ = try ModelStatement(signature.payload, file: "fuzz")
    }

    static let trustPolicy = FuzzTarget(
        name: "trust-policy",
        seeds: [
            #"{"allowedSigners": "s", "rules": [{"origin": "/a/*", "identities": ["x"]}, {"origin": "[a-c]?*", "unsigned": true}]}"#
        ].map { Array($0.utf8) }
    ) { bytes in
        _ = try TrustPolicy(bytes, file: "/etc/trust.json").rule(forRealPath: "/a/b.accelpkg")
    }
}
