import AccelByteIO
import AccelPackages

/// The signature files beside a package that is about to be replaced.
struct SignaturesBeside {
    private let paths: [String]
    /// The digest of the package that they may belong to.
    private let digest: Digest?

    init(_ package: String) {
        paths = SignatureFormat.allCases.map { $0.defaultPath(beside: package) }.filter { Files.kind(of: $0) == .file }
        digest = paths.isEmpty ? nil : try? AcceleratorPackage(at: package).digest
    }

    /// Returns a warning for each signature that belongs to another package than the new one.
    func warnings(after replacement: Digest) -> [String] {
        guard let digest, digest != replacement else { return [] }
        return paths.map { "\($0) is of the package that was replaced, \(digest); sign the new one, or remove it" }
    }
}
