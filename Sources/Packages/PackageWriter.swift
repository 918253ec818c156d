public import ByteIO
import Programs
import Tensors
import WeightCompression

/// Writes packages. Weights go to disk section by section, so memory does not grow with the model.
public struct PackageWriter: ~Copyable {
    private let folder: String
    private let contents: PackageContents
    private var blobs: BlobWriter
    private var files: [Manifest.File] = []

    /// Writes the package `path` as a folder, whole or not at all. The same contents give the same bytes.
    /// - Parameter beforeCommit: gets the folder with the finished package, e.g. to keep it in a cache.
    /// - Returns: the package digest.
    /// - Throws: `RequestError` for contents that do not make a package, or a place that cannot be written.
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

    /// Writes the package as one zip archive. The weights lie in it as in the folder, so that it can be mapped.
    /// - Returns: the package digest.
    @discardableResult
    public static func archive(
        _ contents: PackageContents, to path: String, beforeCommit: (_ folder: String) throws -> Void = { _ in }
    ) throws -> Digest {
        let target = try AtomicFolder(replacing: "\(path).folder")
        // Not committed: the folder goes when the archive is there.
        return try withExtendedLifetime(target) {
            let digest = try write(contents, into: target.path)
            try beforeCommit(target.path)
            try archive(packageAt: target.path, to: path)
            return digest
        }
    }

    /// Puts the files of a package folder into one zip archive. Equal packages give equal archives.
    public static func archive(packageAt folder: String, to path: String) throws {
        let package = try AcceleratorPackage(at: folder)
        var archive = try ZipWriter(replacing: path)
        for name in [PackageFormat.manifestName] + package.manifest.files.map(\.name) {
            // What is mapped in place is stored as it is; a page's alignment keeps sections aligned.
            let isMapped = name.hasSuffix(".bin")
            try archive.append(
                name, try package.files.content(name), compressed: !isMapped,
                alignment: isMapped ? PackageFormat.pageBytes : 1)
        }
        try archive.commit()
    }

    /// Writes the files of a package into the empty folder `folder`, not synced.
    /// - Parameter maximumBlobBytes: for tests.
    static func write(
        _ contents: PackageContents, into folder: String, maximumBlobBytes: Int = PackageFormat.maximumBlobBytes
    ) throws -> Digest {
        try write(contents, into: folder, blobs: BlobWriter(folder: folder, maximumBytes: maximumBlobBytes))
    }

    /// The same, where weights have been written already.
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
        try ProgramValidator.validate(contents.program, file: "the compiled program")
        // The coverage's weights first, as a draft does.
        var indices = try blobs.indices(of: contents.coverage.flatMap(\.tensor.sections))[...]
        let coverage = contents.coverage.map { entry in
            let count = entry.tensor.sections.count
            defer { indices = indices.dropFirst(count) }
            return Array(indices.prefix(count))
        }
        var weights: [WeightRecord] = []
        for tensor in contents.program.weights {
            weights.append(
                WeightRecord(
                    name: tensor.name, elementType: tensor.elementType, shape: tensor.shape,
                    codec: tensor.codec.specification, sections: try blobs.indices(of: tensor.sections)))
        }
        let sections = blobs.sections
        let coverageSections = coverage.map { indices in indices.map { sections[$0] } }
        try blobs.finishBlob()
        files += blobs.files

        let program = try ProgramEncoder.encode(
            contents.program.functions, weights: weights, sections: blobs.sections)
        try write(program, to: PackageFormat.programName)
        let sourceMap = SourceMap.text(
            contents.coverage, sections: coverageSections, unused: contents.unusedTensors)
        try write(ByteView(Array(sourceMap.utf8)), to: PackageFormat.sourceMapName)
        for asset in contents.assets {
            let name = "\(PackageFormat.assetsFolder)/\(asset.name)"
            guard PackageFormat.isSafeName(name) else {
                throw RequestError("the asset \"\(asset.name)\" has a name that cannot stand in a package; rename it")
            }
            try Files.makeFolder(Files.parentFolder(of: "\(folder)/\(name)") ?? folder)
            try write(asset.content, to: name)
        }
        return try writeManifest()
    }

    private mutating func write(_ content: ByteView, to name: String) throws {
        var file = try AtomicFile(replacing: "\(folder)/\(name)", isSynced: false)
        try file.write(content)
        try file.commit()
        files.append(
            Manifest.File(name: name, byteCount: content.count, digest: TreeDigest.digest(of: content)))
    }

    private func writeManifest() throws -> Digest {
        typealias Feature = PackageFormat.Feature
        let required: [Feature] = [.compiledFunctions] + (blobs.blobCount > 0 ? [.weightBlobs] : [])
        let isScaled = contents.coverage.contains { $0.scaling != nil }
        let optional: [Feature] =
            [.sourceMap] + (contents.assets.isEmpty ? [] : [.assets]) + (isScaled ? [.scaledChannels] : [])
        let manifest = Manifest(
            digest: Digest(bytes: []), major: PackageFormat.major, minor: isScaled ? 1 : 0,
            requiredFeatures: required.map(\.rawValue), optionalFeatures: optional.map(\.rawValue),
            functions: contents.program.functions.map(Manifest.Function.init),
            files: files.sorted { $0.name < $1.name },
            coverage: CoverageSummary(contents.coverage, unused: contents.unusedTensors.count),
            provenance: contents.provenance)
        let text = manifest.text
        var file = try AtomicFile(replacing: "\(folder)/\(PackageFormat.manifestName)", isSynced: false)
        try file.write(text)
        try file.commit()
        // Reading it back finds what cannot be read: two assets of one name, a shape that is too large.
        return try Manifest(ByteView(Array(text.utf8)), file: PackageFormat.manifestName).digest
    }
}
