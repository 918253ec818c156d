import AccelByteIO

extension AcceleratorPackage {
    /// Returns whether `path` is a package, valid or not: a folder or an archive with a manifest and a graph, or with
    /// the corresponding files of format 2. It distinguishes packages from other files that a user names by mistake.
    public static func looksLikePackage(at path: String) -> Bool {
        func isPackage(_ contains: (String) -> Bool) -> Bool {
            contains(PackageFormat.manifestName)
                && (contains(PackageFormat.graphName) || contains(PackageFormat.earlierProgramName))
        }
        switch Files.kind(of: path) {
        case .folder?: return isPackage { Files.kindWithoutFollowing("\(path)/\($0)") == .file }
        case .file?:
            guard let archive = try? ZipArchive(try MappedFile(path)) else { return false }
            return isPackage { name in archive.entries.contains { $0.name == name } }
        default: return false
        }
    }
}
