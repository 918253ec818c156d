public import AccelByteIO

extension OutputKind {
    /// A package folder: its manifest is sealed, and lists every file except verify.json.
    public static let package = OutputKind.folder("a package folder", suffixes: [".accelpkg"]) { path in
        try rejectionReason(for: PackageFolder(path: path))
    }

    /// A package in a zip archive.
    public static let packageArchive = OutputKind.file("a package archive", suffixes: [".zip", ".accelpkg"]) { path in
        try rejectionReason(for: PackageArchive(path))
    }

    private static func rejectionReason(for files: any PackageFiles) throws -> String? {
        let names = try files.names()
        guard names.contains(PackageFormat.manifestName) else { return "it has no \(PackageFormat.manifestName)" }
        let manifest = try Manifest(
            try files.content(PackageFormat.manifestName), file: files.describe(PackageFormat.manifestName))
        let listed = Set(manifest.files.map(\.name) + [PackageFormat.manifestName, PackageFormat.reportName])
        if let other = names.first(where: { !listed.contains($0) }) {
            return "it holds \(other), which is no part of the package"
        }
        guard let folder = files as? PackageFolder else { return try change(in: files, of: names, manifest) }
        let folders = Set(listed.compactMap(Files.parentFolder))
        if let other = try folder.folders().first(where: { !folders.contains($0) }) {
            return "it holds \(other), which is no part of the package"
        }
        if let other = names.first(where: { Files.kindWithoutFollowing(files.describe($0)) != .file }) {
            return "\(other) in it is no regular file"
        }
        if names.contains(PackageFormat.reportName) {
            let report = try PackageReport(files)
            if report.package != manifest.digest { return "its \(PackageFormat.reportName) is of another package" }
        }
        return try change(in: files, of: names, manifest)
    }

    /// Returns the reason that a file differs from the manifest; nil if none does. Blobs are compared by the digests of
    /// sections.
    private static func change(in files: any PackageFiles, of names: [String], _ manifest: Manifest) throws -> String? {
        let blobs = Set(manifest.blobs.map(\.name))
        for file in manifest.files where names.contains(file.name) {
            let written = WrittenFile(
                name: file.name, byteCount: file.byteCount, digest: blobs.contains(file.name) ? nil : file.digest)
            if let change = written.change(in: try files.content(file.name)) { return change }
        }
        return nil
    }

    /// The parity report in a package's folder.
    static let packageReport = OutputKind.file("a package's report") { path in
        guard let folder = Files.parentFolder(of: path) else { return "it is not in a folder" }
        _ = try PackageReport(PackageFolder(path: folder))
        return nil
    }

    /// An SSH signature of a package, from `ssh-keygen`.
    public static let sshSignature = OutputKind.file("an SSH signature of a package") { path in
        _ = try SSHSignature(try MappedFile(path).bytes, file: path)
        return nil
    }

    /// A signature in the format of OpenSSF Model Signing.
    public static let modelSignature = OutputKind.file("an OpenSSF model signature") { path in
        _ = try ModelStatement(try ModelSignature(try MappedFile(path).bytes, file: path).payload, file: path)
        return nil
    }
}

/// The content of verify.json, which is sealed.
struct PackageReport {
    /// The digest of the package that the report is about.
    let package: Digest
    let document: JSONField

    init(_ files: any PackageFiles) throws {
        let file = files.describe(PackageFormat.reportName)
        let bytes = try files.content(PackageFormat.reportName)
        document = JSONField(try JSON.parse(bytes, file: file), file: file)
        _ = try SealedDocument.checkedDigest(of: bytes, file: file)
        package = try document["package"].digest()
    }
}
