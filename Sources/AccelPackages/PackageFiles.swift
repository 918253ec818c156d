import AccelByteIO

/// The files of a package in a folder or an archive.
protocol PackageFiles: Sendable {
    /// The path of the package, for errors.
    var path: String { get }
    /// Returns the path of every file, with `/` between components, including entries that are neither file nor folder.
    func names() throws -> [String]
    /// Maps a file without reading its bytes.
    func content(_ name: String) throws -> ByteView
}

extension PackageFiles {
    /// Returns the file's path in errors.
    func describe(_ name: String) -> String { "\(path)/\(name)" }
}

/// A package folder.
struct PackageFolder: PackageFiles {
    let path: String
    /// The open folder, in which files are looked up, because its path may lead elsewhere later; nil to use the path.
    let opened: OpenedPath?

    init(path: String) { (self.path, opened) = (path, nil) }
    init(_ opened: OpenedPath) { (path, self.opened) = (opened.path, opened) }

    /// Returns the path of every file, without those of a report that another run stores, or stored when it was killed.
    func names() throws -> [String] { try names(in: "") }

    /// Returns the path of every subfolder.
    func folders() throws -> [String] { try folders(in: "") }

    private func folders(in prefix: String) throws -> [String] {
        try Files.list(prefix.isEmpty ? path : describe(prefix)).flatMap { part -> [String] in
            let name = prefix.isEmpty ? part : "\(prefix)/\(part)"
            return Files.kindWithoutFollowing(describe(name)) == .folder ? [name] + (try folders(in: name)) : []
        }
    }

    private func names(in prefix: String) throws -> [String] {
        let folder = opened?.lastingPath ?? path
        return try Files.list(prefix.isEmpty ? folder : "\(folder)/\(prefix)").flatMap { part -> [String] in
            let name = prefix.isEmpty ? part : "\(prefix)/\(part)"
            let kind = Files.kindWithoutFollowing("\(folder)/\(name)")
            // It may be gone by now.
            if kind == .file || kind == nil, TemporaryPaths.isSibling(name, of: PackageFormat.reportName) { return [] }
            return kind == .folder ? try names(in: name) : [name]
        }
    }

    func content(_ name: String) throws -> ByteView {
        let folder = opened?.lastingPath ?? path
        do {
            return try MappedFile(name, inside: folder).bytes
        } catch  where Files.kindWithoutFollowing("\(folder)/\(name)") == nil {
            throw FormatError(file: describe(name), reason: "is missing; \(PackageFormat.damageAdvice)")
        } catch let error as FormatError {
            throw FormatError(file: describe(name), location: error.location, reason: error.reason)
        } catch let error as RequestError {
            throw RequestError(
                error.description.substituting(folder, by: path, atMost: 1), status: error.exitStatus)
        }
    }
}

/// A package whose files are mapped already, so that later changes of their names have no effect.
struct PackageMaps: PackageFiles {
    let path: String
    let contents: [String: ByteView]

    func names() throws -> [String] { contents.keys.sorted() }

    func content(_ name: String) throws -> ByteView {
        guard let content = contents[name] else { throw FormatError(file: path, reason: "there is no file \(name)") }
        return content
    }
}

/// A package in a zip archive.
struct PackageArchive: PackageFiles {
    let path: String
    private let archive: ZipArchive

    init(_ path: String) throws { try self.init(try MappedFile(path).bytes, path: path) }

    init(_ bytes: ByteView, path: String) throws {
        self.path = path
        archive = try ZipArchive(bytes, file: path)
    }

    func names() throws -> [String] { archive.entries.map(\.name).sorted() }

    /// Maps a file. The checksum of a weight blob is not verified, because that would read it; `check` compares
    /// digests.
    func content(_ name: String) throws -> ByteView {
        if name == PackageFormat.manifestName, archive[name] == nil {
            throw FormatError(
                file: path,
                reason: "is a zip archive without \(name), and so no package")
        }
        guard name.hasPrefix("weights-"), let stored = archive.storedBytes(of: name) else {
            return try archive.content(of: name)
        }
        guard stored.withBytes({ UInt(bitPattern: $0.baseAddress) }) % UInt(PackageFormat.sectionAlignment) == 0 else {
            throw FormatError(
                file: describe(name),
                reason:
                    "is not on a multiple of \(PackageFormat.sectionAlignment) bytes in the archive; unzip the package")
        }
        return stored
    }
}
