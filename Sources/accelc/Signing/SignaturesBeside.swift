import AccelByteIO
import AccelPackages

/// The signatures beside a package that is about to be replaced.
struct SignaturesBeside {
    private let paths: [String]
    /// What they may be of.
    private let digest: Digest?

    init(_ package: String) {
        paths = SignatureFormat.allCases.map { $0.defaultPath(beside: package) }.filter { Files.kind(of: $0) == .file }
        digest = paths.isEmpty ? nil : try? AcceleratorPackage(at: package).digest
    }

    /// Those that are of another package than the one that stands there now, as sentences.
    func warnings(after replacement: Digest) -> [String] {
        guard let digest, digest != replacement else { return [] }
        return paths.map { "\($0) is of the package that was replaced, \(digest); sign the new one, or remove it" }
    }
}
