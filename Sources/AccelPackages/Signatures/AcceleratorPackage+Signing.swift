public import AccelByteIO
import AccelTensors

/// The content that signatures of a package cover. `check` verifies the package against its manifest.
extension AcceleratorPackage {
    /// The bytes of manifest.json, which hold the digest of every other file: the content that an SSH signature without a
    /// name signs (`signedContent`). Equal for a folder and its archive.
    public var signedManifest: ByteView {
        get throws {
            let (bytes, file) = (
                try files.content(PackageFormat.manifestName), files.describe(PackageFormat.manifestName)
            )
            guard try Manifest(bytes, file: file).digest == digest else {
                throw FormatError(file: file, reason: "was changed while it was read")
            }
            return bytes
        }
    }

    /// Returns every file with the SHA-256 of its bytes, in the order of OpenSSF Model Signing.
    /// - Parameter release: what the statement says of the model besides.
    public func statement(
        name: String, release: SignedRelease = .unstated, threads: Int
    ) throws -> ModelStatement {
        let names = ([PackageFormat.manifestName] + manifest.files.map(\.name)).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let digests = try Parallel.map(names.count, threads: threads) { index in
            SHA256.digest(of: try files.content(names[index]))
        }
        return ModelStatement(
            name: name, resources: zip(names, digests).map { ModelStatement.Resource(name: $0, digest: $1) },
            ignoredPaths: [PackageFormat.reportName], release: release)
    }

    /// Compares the files with a statement, which has to list exactly these files with their digests.
    /// - Throws: `FormatError` naming the first file, in the order of names, that differs.
    public func check(against statement: ModelStatement, threads: Int) throws {
        let stated = Dictionary(statement.resources.map { ($0.name, $0.digest) }) { first, _ in first }
        let found = try self.statement(name: statement.name, threads: threads).resources
        for resource in found {
            guard let digest = stated[resource.name] else {
                throw FormatError(file: files.describe(resource.name), reason: "the signature does not list this file")
            }
            guard digest == resource.digest else {
                throw FormatError(
                    file: files.describe(resource.name),
                    reason: "the signature is of a file with SHA-256 \(digest), found \(resource.digest)")
            }
        }
        let names = Set(found.map(\.name))
        if let missing = statement.resources.map(\.name).sorted().first(where: { !names.contains($0) }) {
            throw FormatError(
                file: files.describe(String(missing.prefix(512))),
                reason: "the signature lists this file, but the package has none of that name")
        }
    }
}
