public import AccelByteIO
public import AccelPackages

/// Decides whether the signature of a package or a plug-in is accepted. `SSHSignatureVerifier` does so by the tools of the
/// system; on Apple's platforms an app can use CryptoKit.
public protocol SignatureVerifier: Sendable {
    /// Checks the signature of a package whose bytes are intact.
    /// - Parameter package: `signedContent` is what an SSH signature signs.
    /// - Throws: any error if the package is not trusted; its description is the reason.
    func verify(_ package: AcceleratorPackage) throws
    /// Checks the signature of a package as `verify` does, and reads the model's name and version from what is signed.
    /// - Returns: by default, that the signature states neither.
    func verifiedRelease(of package: AcceleratorPackage) throws -> SignedRelease
    /// Checks the signature of a backend plug-in before it is loaded.
    /// - Parameters:
    ///   - plugin: the bytes of the shared library.
    ///   - path: the library's path; an SSH signature is beside it, with `.sig` at its end.
    /// - Throws: any error if the plug-in is not trusted; its description is the reason.
    func verify(plugin: ByteView, at path: String) throws
}

extension SignatureVerifier {
    public func verifiedRelease(of package: AcceleratorPackage) throws -> SignedRelease {
        try verify(package)
        return .unstated
    }

    /// Rejects every plug-in.
    public func verify(plugin: ByteView, at path: String) throws {
        throw AccelError(.untrusted, "\(Self.self) checks packages only", at: path)
    }
}
