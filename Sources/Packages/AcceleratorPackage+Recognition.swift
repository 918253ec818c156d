import ByteIO

extension AcceleratorPackage {
    /// Whether a package stands at `path`, sound or not: a folder or an archive with a manifest and a program. Tells a
    /// package from anything else that a user might name by mistake.
    public static func looksLikePackage(at path: String) -> Bool {
        let required = [PackageFormat.manifestName, PackageFormat.programName]
        switch Files.kind(of: path) {
        case .folder?: return required.allSatisfy { Files.kindWithoutFollowing("\(path)/\($0)") == .file }
        case .file?:
            guard let archive = try? ZipArchive(try MappedFile(path)) else { return false }
            return required.allSatisfy { name in archive.entries.contains { $0.name == name } }
        default: return false
        }
    }
}
