import ByteIO

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

    func names() throws -> [String] { try names(in: "") }

    private func names(in prefix: String) throws -> [String] {
        try Files.list(prefix.isEmpty ? path : describe(prefix)).flatMap { part -> [String] in
            let name = prefix.isEmpty ? part : "\(prefix)/\(part)"
            return Files.kindWithoutFollowing(describe(name)) == .folder ? try names(in: name) : [name]
        }
    }

    func content(_ name: String) throws -> ByteView {
        try MappedFile(name, inside: path).bytes
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
