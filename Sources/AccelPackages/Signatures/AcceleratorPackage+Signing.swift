public import AccelByteIO
import AccelTensors

/// What signatures of a package are about. `check` finds whether the package is what its manifest says.
extension AcceleratorPackage {
    /// The bytes of manifest.json, which hold the digest of every other file: what an SSH signature signs. The same for a folder
    /// and its archive.
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

    /// Every file with the SHA-256 of its bytes, as OpenSSF's model signing lists them.
    public func statement(name: String, threads: Int) throws -> ModelStatement {
        let names = ([PackageFormat.manifestName] + manifest.files.map(\.name)).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let digests = try Parallel.map(names.count, threads: threads) { index in
            SHA256.digest(of: try files.content(names[index]))
        }
        return ModelStatement(
            name: name, resources: zip(names, digests).map { ModelStatement.Resource(name: $0, digest: $1) },
            ignoredPaths: [PackageFormat.reportName])
    }

    /// Compares the files with those of a statement: each has to be listed with its digest, and no other.
    /// - Throws: `FormatError` naming the first file, in the order of their names, that is not as stated.
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
