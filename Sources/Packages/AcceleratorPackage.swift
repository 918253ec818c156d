public import ByteIO
public import Programs
import Tensors

/// An opened package: checked, mapped, ready to run. Its weights are views into the maps.
///
/// Opening reads the manifest and program.bin; its cost does not depend on the size of the weights.
public struct AcceleratorPackage: Sendable {
    public let path: String
    public let manifest: Manifest
    public let program: CompiledProgram
    let sections: [Section]
    let files: any PackageFiles
    let blobs: [ByteView]

    /// Opens a package: a folder, or a zip archive.
    /// - Throws: `FormatError` for what is not a sound package of a known version and features; `RequestError` when
    ///   there is nothing at `path`.
    public init(at path: String) throws {
        let files: any PackageFiles
        switch Files.kind(of: path) {
        case nil: throw RequestError("there is no package at \(path)", status: .unavailable)
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
        manifest = try Manifest(
            try files.content(PackageFormat.manifestName), file: files.describe(PackageFormat.manifestName))
        blobs = try manifest.blobs.map { try Self.content(of: $0, in: files) }
        let programFile = files.describe(PackageFormat.programName)
        let bytes = try Self.checkedContent(of: PackageFormat.programName, manifest, files)
        let decoded = try Self.program(bytes, file: programFile, blobs: blobs)
        sections = decoded.sections
        let interfaces = manifest.functions.map(\.interface)
        for (index, blob) in manifest.blobs.enumerated() where blob.digest != sections.digest(ofBlob: index) {
            throw FormatError(
                file: files.describe(PackageFormat.manifestName), place: .field("files"),
                reason: "the digest of \(blob.name) is not that of the sections in \(PackageFormat.programName)")
        }
        guard manifest.functions == decoded.program.with(interfaces).functions.map(Manifest.Function.init) else {
            throw FormatError(
                file: files.describe(PackageFormat.manifestName), place: .field("functions"),
                reason: "does not say what \(PackageFormat.programName) holds")
        }
        program = decoded.program.with(interfaces.map(\.known))
    }

    /// Decodes and validates program.bin.
    package static func program(
        _ bytes: ByteView, file: String, blobs: [ByteView]
    ) throws -> (program: CompiledProgram, sections: [Section]) {
        let decoded = try ProgramDecoder.decode(bytes, file: file)
        try check(decoded.sections, blobs: blobs, file: file)
        let contents = decoded.sections.map { blobs[$0.blob][$0.offset..<$0.offset + $0.byteCount] }
        let weights = try decoded.weights.map { weight in
            guard let sections = weight.sections.mapAll({ contents.indices.contains($0) ? contents[$0] : nil }) else {
                throw FormatError(
                    file: file, place: .tensor(weight.name, index: nil), reason: "names a section that there is not")
            }
            return try StoredForm(
                name: weight.name, elementType: weight.elementType, shape: weight.shape, codec: weight.codec
            ).tensor(sections: sections, file: file)
        }
        let program = CompiledProgram(functions: decoded.functions, weights: weights)
        try ProgramValidator.validate(program, file: file)
        return (program, decoded.sections)
    }

    /// The sections follow each other without a gap but the padding, and fill the blobs.
    private static func check(_ sections: [Section], blobs: [ByteView], file: String) throws {
        var ends = [Int](repeating: 0, count: blobs.count)
        var last = 0
        for (index, section) in sections.enumerated() {
            guard section.blob < blobs.count, section.blob == last || section.blob == last + 1,
                section.offset == ends[section.blob], section.byteCount <= blobs[section.blob].count - section.offset
            else {
                throw FormatError(
                    file: file,
                    reason:
                        "section \(index) (\(section.byteCount) bytes at \(section.offset) of blob \(section.blob)) "
                        + "does not follow the one before it, or is outside of its blob")
            }
            let alignment = PackageFormat.sectionAlignment
            ends[section.blob] = (section.offset + section.byteCount + alignment - 1) / alignment * alignment
            last = section.blob
        }
        for (index, end) in ends.enumerated() where end != blobs[index].count {
            throw FormatError(
                file: file,
                reason: "the sections of blob \(index) end at \(end), but it has \(blobs[index].count) bytes")
        }
    }

    /// Maps a listed file of the size that the manifest says.
    private static func content(of file: Manifest.File, in files: any PackageFiles) throws -> ByteView {
        let content = try files.content(file.name)
        guard content.count == file.byteCount else {
            throw FormatError(
                file: files.describe(file.name),
                reason: "expected \(file.byteCount) bytes, found \(content.count): the package is incomplete")
        }
        return content
    }

    /// A listed file whose bytes have the digest that the manifest says.
    static func checkedContent(of name: String, _ manifest: Manifest, _ files: any PackageFiles) throws -> ByteView {
        guard let file = manifest.file(name) else {
            throw FormatError(file: files.path, reason: "\(name) is not listed in the manifest")
        }
        let content = try content(of: file, in: files)
        let found = try TreeDigest.digest(of: content, threads: Parallel.processorCount)
        guard found == file.digest else {
            throw FormatError(
                file: files.describe(name),
                reason: "expected the digest \(file.digest), found \(found): its bytes were changed")
        }
        return content
    }
}

extension AcceleratorPackage {
    /// The package digest: equal packages have equal ones.
    public var digest: Digest { manifest.digest }

    /// What became of each tensor of the checkpoint, in the order of writing. Reads source-map.json each time.
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

/// The sections that a program.bin names, with their blobs: what a source-map.json is read beside.
package struct KnownSections: Sendable {
    private let sections: [Section]
    private let blobs: [ByteView]

    package init(of program: ByteView, blobs: [ByteView], file: String) throws {
        sections = try AcceleratorPackage.program(program, file: file, blobs: blobs).sections
        self.blobs = blobs
    }

    package func check(sourceMap bytes: ByteView, file: String) throws {
        _ = try SourceMap(bytes, file: file, known: sections) { section in
            blobs[section.blob][section.offset..<section.offset + section.byteCount]
        }
    }
}

extension CompiledProgram {
    /// program.bin does not say what ports mean; the manifest does.
    fileprivate func with(_ interfaces: [Interface]) -> CompiledProgram {
        var program = self
        for (index, interface) in zip(program.functions.indices, interfaces) {
            program.functions[index].interface = interface
        }
        return program
    }
}

extension Array {
    /// The mapped elements, nil when one of them is.
    func mapAll<Result>(_ transform: (Element) throws -> Result?) rethrows -> [Result]? {
        var results: [Result] = []
        for element in self {
            guard let result = try transform(element) else { return nil }
            results.append(result)
        }
        return results
    }
}
