import AccelByteIO

/// The contents of a package's folder, by path: the package's own files and folders, and foreign ones. Links are not followed.
struct PackageFolderContents {
    private(set) var files: [String] = []
    private(set) var folders: [String]
    /// Entries that do not belong to the package. They are never removed.
    private(set) var foreign: [String] = []
    private let path: String

    /// Looks at a folder.
    /// - Parameter names: further names of the package's own files, beyond those that its documents list.
    init(of path: String, besides names: [String] = []) {
        (self.path, folders) = (path, [path])
        let own = Self.names(inPackage: path).union(names)
        let inner = Set(
            own.flatMap { name in name.indices.filter { name[$0] == "/" }.map { String(name[..<$0]) } })
        look("", own, inner)
    }

    private mutating func look(_ prefix: String, _ own: Set<String>, _ inner: Set<String>) {
        for part in (try? Files.list("\(path)/\(prefix)")) ?? [] {
            let name = prefix + part
            let member = "\(path)/\(name)"
            switch Files.kindWithoutFollowing(member) {
            case .folder? where inner.contains(name):
                folders.append(member)
                look(name + "/", own, inner)
            case .file? where own.contains(name): files.append(member)
            case nil: break
            case _?: foreign.append(member)
            }
        }
    }

    /// Returns the names of a package's files, as far as its documents list them.
    private static func names(inPackage path: String) -> Set<String> {
        var names: Set<String> = [
            PackageFormat.manifestName, PackageFormat.graphName, PackageFormat.weightsName, PackageFormat.sourceMapName,
            PackageFormat.earlierProgramName, PackageFormat.reportName,
        ]
        if let bytes = try? MappedFile("\(path)/\(PackageFormat.manifestName)").bytes,
            let manifest = try? Manifest(bytes, file: PackageFormat.manifestName)
        {
            names.formUnion(manifest.files.map(\.name))
        }
        return names
    }

    /// Removes the package's files, the manifest first, and then its empty folders.
    func remove() throws {
        let manifest = "\(path)/\(PackageFormat.manifestName)"
        for file in files.filter({ $0 == manifest }) + files { try Files.removeTree(file) }
        // The deepest first.
        for folder in folders.reversed() { Files.removeEmptyFolder(folder) }
    }
}
