public import AccelByteIO
public import AccelPrograms
public import AccelTensors

/// An opened package: checked and memory-mapped. Its weights are views of the mapped files.
///
/// Opening reads the manifest, graph.bin and weights.bin; its cost does not depend on the size of the weights. A
/// package holds no execution plan: each runtime makes one for its processor.
public struct AcceleratorPackage: Sendable {
    /// The path of the folder or zip archive.
    public let path: String
    /// The parsed manifest.
    public let manifest: Manifest
    /// The functions and weights of the package.
    public let graph: ModelGraph
    /// The versions of the operators that the graph was made of, by their names.
    public let operatorVersions: [String: Int]
    let sections: [Section]
    let files: any PackageFiles
    let blobs: [ByteView]

    /// Opens a package: a folder, or a zip archive.
    /// - Throws: `FormatError` if it is corrupt or needs an unknown version or feature; `RequestError` if `path` does
    ///   not exist.
    public init(at path: String) throws {
        let files: any PackageFiles
        switch Files.kind(of: path) {
        case nil:
            throw RequestError(Files.brokenLink(path) ?? "there is no package at \(path)", status: .unavailable)
        case .file?: files = try PackageArchive(path)
        default: files = PackageFolder(path: path)
        }
        try self.init(files)
    }

    /// Opens a package in a folder that is about to get another name, or to go: all its files are mapped now.
    public init(mapping folder: String) throws {
        let files = PackageFolder(path: folder)
        let contents = try files.names().map { ($0, try files.content($0)) }
        try self.init(PackageMaps(path: folder, contents: Dictionary(contents) { first, _ in first }))
    }

    /// Opens a package that is held open: each of its files is looked for in that very folder or archive.
    public init(_ opened: OpenedPath) throws {
        let isFile = opened.kind == .file
        try self.init(
            isFile
                ? PackageArchive(try MappedFile(opened.lastingPath).bytes, path: opened.path) : PackageFolder(opened))
    }

    init(_ files: any PackageFiles) throws {
        self.files = files
        path = files.path
        do {
            manifest = try Manifest(
                try files.content(PackageFormat.manifestName), file: files.describe(PackageFormat.manifestName))
        } catch var error as FormatError where error.location == .field("digest") {
            error.reason += "; \(PackageFormat.damageAdvice)"
            throw error
        }
        blobs = try manifest.blobs.map { try Self.content(of: $0, in: files) }
        let weightsFile = files.describe(PackageFormat.weightsName)
        let index = try WeightIndex(
            try Self.checkedContent(of: PackageFormat.weightsName, manifest, files), file: weightsFile, blobs: blobs)
        sections = index.sections
        for (index, blob) in manifest.blobs.enumerated() where blob.digest != sections.digest(ofBlob: index) {
            throw FormatError(
                file: files.describe(PackageFormat.manifestName), location: .field("files"),
                reason: "the digest of \(blob.name) is not that of the sections in \(PackageFormat.weightsName)")
        }
        let graphFile = files.describe(PackageFormat.graphName)
        let decoder = try GraphDecoder(
            try Self.checkedContent(of: PackageFormat.graphName, manifest, files), file: graphFile)
        let tensors = try index.tensors(of: decoder.constants, blobs: blobs, file: weightsFile)
        operatorVersions = decoder.versions
        // The roles of ports are in the manifest, not in graph.bin.
        let interfaces = manifest.functions.map(\.interface)
        let functions = try decoder.functions(tensors)
        let described = functions.with(interfaces)
        guard manifest.functions == described.map(Manifest.Function.init) else {
            throw FormatError(
                file: files.describe(PackageFormat.manifestName), location: .field("functions"),
                reason: "does not say what \(PackageFormat.graphName) holds")
        }
        graph = ModelGraph(functions: functions.with(interfaces.map(\.known)), tensors: tensors)
    }

    /// Maps a listed file and checks its size against the manifest's.
    private static func content(of file: Manifest.File, in files: any PackageFiles) throws -> ByteView {
        let content = try files.content(file.name)
        guard content.count == file.byteCount else {
            throw FormatError(
                file: files.describe(file.name),
                reason: "expected \(file.byteCount) bytes, found \(content.count): "
                    + (content.count < file.byteCount
                        ? "the package is incomplete" : "it was changed after it was written")
                    + "; \(PackageFormat.damageAdvice)")
        }
        return content
    }

    /// Returns a listed file after checking its digest against the manifest's.
    static func checkedContent(of name: String, _ manifest: Manifest, _ files: any PackageFiles) throws -> ByteView {
        guard let file = manifest.file(name) else {
            throw FormatError(file: files.path, reason: "\(name) is not listed in the manifest")
        }
        let content = try content(of: file, in: files)
        let found = try TreeDigest.digest(of: content, threads: Parallel.processorCount)
        guard found == file.digest else {
            throw FormatError(
                file: files.describe(name),
                reason: "expected the digest \(file.digest), found \(found): its bytes were changed; "
                    + PackageFormat.damageAdvice)
        }
        return content
    }
}

extension AcceleratorPackage {
    /// The package digest: equal packages have equal ones.
    public var digest: Digest { manifest.digest }

    /// The bytes of all files, without a report.
    public var byteCount: Int {
        get throws {
            MachineMemory.sum([try files.content(PackageFormat.manifestName).count] + manifest.files.map(\.byteCount))
        }
    }

    /// The storage of each tensor of the checkpoint, in the order of writing. Reads source-map.json each time.
    public var coverage: [CoverageEntry] { get throws { try sourceMap().coverage } }
    /// The tensors of the checkpoint that no function reads. Reads source-map.json each time.
    public var unusedTensors: [UnusedTensor] { get throws { try sourceMap().unusedTensors } }

    /// The files passed through; their bytes are checked.
    public var assets: [Asset] {
        get throws {
            try manifest.assetNames.map { name in
                Asset(
                    name: name,
                    content: try Self.checkedContent(
                        of: "\(PackageFormat.assetsFolder)/\(name)", manifest, files))
            }
        }
    }

    /// A file passed through, nil when there is none of that name; its bytes are checked.
    public func asset(_ name: String) throws -> Asset? {
        let path = "\(PackageFormat.assetsFolder)/\(name)"
        guard manifest.file(path) != nil else { return nil }
        return Asset(name: name, content: try Self.checkedContent(of: path, manifest, files))
    }

    /// Reads source-map.json: coverage and unused tensors in one.
    public func sourceMap() throws -> SourceMap {
        let bytes = try Self.checkedContent(of: PackageFormat.sourceMapName, manifest, files)
        return try SourceMap(bytes, file: files.describe(PackageFormat.sourceMapName), known: sections) { section in
            blobs[section.blob][section.offset..<section.offset + section.byteCount]
        }
    }
}

/// The tables of a package apart from its manifest, for those who read bytes that no digest vouches for.
package struct PackageTables: Sendable {
    private let index: WeightIndex
    private let blobs: [ByteView]

    /// Reads weights.bin.
    package init(weights: ByteView, blobs: [ByteView], file: String) throws {
        index = try WeightIndex(weights, file: file, blobs: blobs)
        self.blobs = blobs
    }

    /// Reads graph.bin beside it.
    package func graph(_ bytes: ByteView, file: String) throws -> ModelGraph {
        let decoder = try GraphDecoder(bytes, file: file)
        let tensors = try index.tensors(of: decoder.constants, blobs: blobs, file: file)
        return ModelGraph(functions: try decoder.functions(tensors), tensors: tensors)
    }

    /// Reads source-map.json beside it.
    package func check(sourceMap bytes: ByteView, file: String) throws {
        _ = try SourceMap(bytes, file: file, known: index.sections) { section in
            blobs[section.blob][section.offset..<section.offset + section.byteCount]
        }
    }

    /// weights.bin, written again.
    package var encoded: ByteView { index.encoded }
}

extension [FrozenProgram] {
    /// The same functions with interfaces, one for each.
    fileprivate func with(_ interfaces: [Interface]) -> [FrozenProgram] {
        zip(self, interfaces).map { $0.with($1) } + dropFirst(interfaces.count)
    }
}

extension ModelGraph {
    /// graph.bin.
    /// - Throws: `RequestError` when an attribute has a free dimension.
    package func encoded() throws -> ByteView { try GraphEncoder.encode(self) }
}
