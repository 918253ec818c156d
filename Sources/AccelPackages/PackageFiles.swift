import AccelByteIO

/// The files of a package, wherever they lie.
protocol PackageFiles: Sendable {
    /// For errors.
    var path: String { get }
    /// Every file, with `/` between the parts of its name; what is neither file nor folder as well.
    func names() throws -> [String]
    /// Maps a file. Its bytes are not read.
    func content(_ name: String) throws -> ByteView
}

extension PackageFiles {
    /// The file's name in errors.
    func describe(_ name: String) -> String { "\(path)/\(name)" }
}

/// A package as a folder.
struct PackageFolder: PackageFiles {
    let path: String
    /// The folder held open; its files are found in it, and not by its name, which may lead elsewhere by then.
    let opened: OpenedPath?

    init(path: String) { (self.path, opened) = (path, nil) }
    init(_ opened: OpenedPath) { (path, self.opened) = (opened.path, opened) }

    func names() throws -> [String] { try names(in: "") }

    /// Every folder in it, by its path.
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
            return Files.kindWithoutFollowing("\(folder)/\(name)") == .folder ? try names(in: name) : [name]
        }
    }

    func content(_ name: String) throws -> ByteView {
        guard let folder = opened?.lastingPath else { return try MappedFile(name, inside: path).bytes }
        do {
            return try MappedFile(name, inside: folder).bytes
        } catch let error as FormatError {
            throw FormatError(file: describe(name), place: error.place, reason: error.reason)
        } catch let error as RequestError {
            throw RequestError(
                error.description.replacing(folder, with: path, maxReplacements: 1), status: error.exitStatus)
        }
    }
}

/// A package whose files have been mapped one by one, wherever they lie: what becomes of their names does not matter.
struct PackageMaps: PackageFiles {
    let path: String
    let contents: [String: ByteView]

    func names() throws -> [String] { contents.keys.sorted() }

    func content(_ name: String) throws -> ByteView {
        guard let content = contents[name] else { throw FormatError(file: path, reason: "there is no file \(name)") }
        return content
    }
}

/// A package as one zip archive.
struct PackageArchive: PackageFiles {
    let path: String
    private let archive: ZipArchive

    init(_ path: String) throws { try self.init(try MappedFile(path).bytes, path: path) }

    init(_ bytes: ByteView, path: String) throws {
        self.path = path
        archive = try ZipArchive(bytes, file: path)
    }

    func names() throws -> [String] { archive.entries.map(\.name).sorted() }

    /// A weight blob is mapped without its checksum being verified, which would read it: `check` compares digests.
    func content(_ name: String) throws -> ByteView {
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
