public import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Writes packages. Weights are written section by section, so memory does not grow with the model.
public struct PackageWriter: ~Copyable {
    private let folder: String
    private let contents: PackageContents
    private var blobs: BlobWriter
    private var files: [Manifest.File] = []

    /// Writes a package folder, completely or not at all. Equal contents give equal bytes.
    /// - Parameter beforeCommit: called with the folder of the finished package, for example to cache it.
    /// - Returns: The package digest.
    /// - Throws: `RequestError` for contents that are not a valid package, or a path that cannot be written.
    @discardableResult
    public static func write(
        _ contents: PackageContents, to path: String, beforeCommit: (_ folder: String) throws -> Void = { _ in }
    ) throws -> Digest {
        let draft = try PackageDraft(replacing: path)
        let digest = try draft.write(contents)
        try beforeCommit(draft.folder)
        try draft.commit()
        return digest
    }

    /// Writes a package as one zip archive, in which weights are not compressed and aligned, so that they can be
    /// mapped.
    /// - Returns: The package digest.
    @discardableResult
    public static func archive(
        _ contents: PackageContents, to path: String, beforeCommit: (_ folder: String) throws -> Void = { _ in }
    ) throws -> Digest {
        try OutputKind.packageArchive.requireReplaceable(path)
        let draft = try PackageDraft(beside: path)
        let digest = try draft.write(contents)
        try beforeCommit(draft.folder)
        try archive(packageAt: draft.folder, to: path)
        return digest
    }

    /// Writes the files of a package folder to one zip archive. Equal packages give equal archives.
    public static func archive(packageAt folder: String, to path: String) throws {
        let package = try AcceleratorPackage(at: folder)
        var archive = try ZipWriter(replacing: path, as: .packageArchive)
        for name in [PackageFormat.manifestName] + package.manifest.files.map(\.name) {
            // Mapped files are not compressed; the alignment of a page preserves that of sections.
            let isMapped = name.hasSuffix(".bin")
            try archive.append(
                name, try package.files.content(name), compressed: !isMapped,
                alignment: isMapped ? PackageFormat.pageBytes : 1)
        }
        try archive.commit()
    }

    /// Writes the files of a package to an empty folder, without sync.
    /// - Parameter maximumBlobBytes: a smaller limit in tests.
    static func write(
        _ contents: PackageContents, into folder: String, maximumBlobBytes: Int = PackageFormat.maximumBlobBytes
    ) throws -> Digest {
        try write(contents, into: folder, blobs: BlobWriter(folder: folder, maximumBytes: maximumBlobBytes))
    }

    /// Writes the files of a package, some of whose weights are written already.
    static func write(_ contents: PackageContents, into folder: String, blobs: consuming BlobWriter) throws -> Digest {
        var writer = PackageWriter(folder: folder, contents: contents, blobs: blobs)
        return try writer.write()
    }

    private init(folder: String, contents: PackageContents, blobs: consuming BlobWriter) {
        self.folder = folder
        self.contents = contents
        self.blobs = blobs
    }

    private mutating func write() throws -> Digest {
        try contents.graph.functions.requireAgreement(file: "the graph")
        let indices = try blobs.indices(of: contents.storedSections)
        try blobs.finishBlob()
        let documents = try PackageDocuments(contents, layout: blobs.layout, indices: indices)
        files += blobs.layout.files
        for table in documents.tables { try write(table.content, to: table.name) }
        for asset in contents.assets {
            let name = "\(PackageFormat.assetsFolder)/\(asset.name)"
            guard PackageFormat.isSafeName(name) else {
                throw RequestError("the asset \"\(asset.name)\" has a name that packages do not support; rename it")
            }
            try Files.makeFolder(Files.parentFolder(of: "\(folder)/\(name)") ?? folder)
            try write(asset.content, to: name)
        }
        return try write(documents.manifest(files))
    }

    private mutating func write(_ content: ByteView, to name: String) throws {
        try AtomicFile.write(content, to: "\(folder)/\(name)", as: .internal, isSynced: false)
        files.append(
            Manifest.File(name: name, byteCount: content.count, digest: TreeDigest.digest(of: content)))
    }

    private func write(_ manifest: Manifest) throws -> Digest {
        let text = manifest.text
        try AtomicFile.write(text, to: "\(folder)/\(PackageFormat.manifestName)", as: .internal, isSynced: false)
        // Reading it back detects contents that cannot be read: two assets with one name, a shape that is too large.
        return try Manifest(ByteView(Array(text.utf8)), file: PackageFormat.manifestName).digest
    }
}
