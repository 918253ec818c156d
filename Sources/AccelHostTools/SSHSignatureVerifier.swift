public import Accel
public import AccelByteIO

/// Accepts packages and plug-ins that one of some signers has signed with an SSH key; `ssh-keygen` checks that. The signature of
/// `FILE` is `FILE.sig`: for a package what `accelc sign` writes, for a plug-in what
/// `ssh-keygen -Y sign -n accelc-plugin@v1 -f KEY FILE` writes.
public struct SSHSignatureVerifier: SignatureVerifier {
    private let (allowedSigners, identities): (String, [String])

    /// A verifier.
    /// - Parameters:
    ///   - allowedSigners: the path of a file with keys and their owners, as ssh-keygen(1) describes under ALLOWED SIGNERS.
    ///   - identities: the accepted signers; one of them suffices.
    public init(allowedSigners: String, identities: [String]) {
        (self.allowedSigners, self.identities) = (allowedSigners, identities)
    }

    public func verify(_ package: AcceleratorPackage) throws { _ = try verifiedRelease(of: package) }

    public func verifiedRelease(of package: AcceleratorPackage) throws -> SignedRelease {
        try signer(of: package, at: package.path).release
    }

    /// Returns who has signed a package, the type of the key, and the release that the signature states.
    /// - Parameter file: the signature; nil for the one beside the package.
    package func signer(
        of package: AcceleratorPackage, at path: String, signature file: String? = nil
    ) throws -> (identity: String, key: String, release: SignedRelease) {
        try verified(at: path, file) { tool, signature, file, identity in
            let checked = try tool.check(
                package, signature: signature, file: file, identity: identity, allowedSigners: allowedSigners)
            return (identity, checked.signature.keyType, checked.release)
        }
    }

    public func verify(plugin: ByteView, at path: String) throws {
        let purpose = SSHSignature.pluginNamespace
        try verified(at: path) { tool, signature, file, identity in
            try tool.check(
                plugin, try SSHSignature(signature, file: file, purpose: purpose), file: file, identity: identity,
                allowedSigners: allowedSigners, purpose: purpose)
        }
    }

    /// Returns what `check` returns for the first identity that has signed.
    private func verified<Result>(
        at path: String, _ file: String? = nil,
        _ check: (SSHKeygen, _ signature: ByteView, _ file: String, _ identity: String) throws -> Result
    ) throws -> Result {
        let file = file ?? Files.trimmingSlashes(path) + ".sig"
        guard Files.kind(of: file) != nil else {
            throw FormatError(file: path, reason: "is not signed: there is no \(file)")
        }
        let (tool, signature) = (try SSHKeygen(), try MappedFile(file).bytes)
        var rejection: (any Error)?
        for identity in identities {
            do {
                return try check(tool, signature, file, identity)
            } catch {
                // A signature that is somebody else's says more than a key that is missing.
                if rejection == nil || error is FormatError && !(rejection is FormatError) { rejection = error }
            }
        }
        throw rejection ?? FormatError(file: file, reason: "is nobody's signature: no signer is accepted")
    }
}
