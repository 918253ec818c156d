import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension AcceleratorPackage {
    /// The contents from which the package was made. Its tensors are views of the package.
    /// - Throws: `FormatError` for a source map or an asset that was changed.
    public var contents: PackageContents {
        get throws {
            let map = try sourceMap()
            return PackageContents(
                graph: graph, coverage: map.coverage, unusedTensors: map.unusedTensors,
                keptTensors: map.keptTensors, provenance: manifest.provenance,
                assets: try manifest.assetNames.compactMap(asset))
        }
    }

    /// Returns the files of this package that differ from a package of `contents`, sorted by name. Weights are not read
    /// if `contents` has this package's own tensors.
    public func files(differingFrom contents: PackageContents) throws -> [String] {
        let own = Dictionary(
            sections.map { (MemoryRange(blobs[$0.blob][$0.offset..<$0.offset + $0.byteCount]), $0.digest) }
        ) { first, _ in first }
        var layout = BlobLayout()
        let indices = contents.storedSections.map { content in
            layout.place(byteCount: content.count, digest: own[MemoryRange(content)] ?? TreeDigest.digest(of: content))
                .index
        }
        let documents = try PackageDocuments(contents, layout: layout, indices: indices)
        func file(_ name: String, _ content: ByteView) -> Manifest.File {
            Manifest.File(name: name, byteCount: content.count, digest: TreeDigest.digest(of: content))
        }
        let wanted =
            layout.files + documents.tables.map { file($0.name, $0.content) }
            + contents.assets.map { file("\(PackageFormat.assetsFolder)/\($0.name)", $0.content) }
        let names = Set(manifest.files.map(\.name) + wanted.map(\.name))
        let differing = names.filter { name in manifest.file(name) != wanted.first { $0.name == name } }
        let text = ByteView(Array(documents.manifest(wanted).text.utf8))
        let isSame = try files.content(PackageFormat.manifestName) == text
        return (differing + (isSame ? [] : [PackageFormat.manifestName])).sorted()
    }
}
