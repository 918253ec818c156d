import AccelByteIO

/// Removal of the cache's own files, and of nothing else.
extension CacheFolder {
    /// Returns the names of a package's files, as far as its documents list them.
    private func fileNames(inPackage path: String) -> Set<String> {
        var names: Set<String> = [
            PackageFormat.manifestName, PackageFormat.graphName, PackageFormat.weightsName, PackageFormat.sourceMapName,
            PackageFormat.earlierProgramName,
            PackageFormat.reportName,
        ]
        if let bytes = try? MappedFile("\(path)/\(PackageFormat.manifestName)").bytes,
            let manifest = try? Manifest(bytes, file: PackageFormat.manifestName)
        {
            names.formUnion(manifest.files.map(\.name))
        }
        if let key = Digest(hexadecimal: Files.name(of: path)), let record = try? record(key) {
            names.formUnion(record.files.map(\.path))
        }
        return names
    }

    /// Returns the content of a package's folder, by path: its own files and folders, and foreign ones. Links are not
    /// followed.
    private func contents(ofPackage path: String) -> (files: [String], folders: [String], foreign: [String]) {
        let own = fileNames(inPackage: path)
        let folders = Set(
            own.flatMap { name in name.indices.filter { name[$0] == "/" }.map { String(name[..<$0]) } })
        var found = (files: [String](), folders: [path], foreign: [String]())
        func look(_ prefix: String) {
            for part in (try? Files.list("\(path)/\(prefix)")) ?? [] {
                let name = prefix + part
                let member = "\(path)/\(name)"
                switch Files.kindWithoutFollowing(member) {
                case .folder? where folders.contains(name):
                    found.folders.append(member)
                    look(name + "/")
                case .file? where own.contains(name): found.files.append(member)
                case nil: break
                case _?: found.foreign.append(member)
                }
            }
        }
        look("")
        return found
    }

    /// Returns the files in a package's folder that do not belong to the package.
    func foreignFiles(inPackage path: String) -> [String] { contents(ofPackage: path).foreign }

    /// Removes a package's files, the manifest first, and then its empty folders.
    func removePackage(_ path: String) throws {
        guard Files.kindWithoutFollowing(path) == .folder else { return }
        let contents = contents(ofPackage: path)
        let manifest = "\(path)/\(PackageFormat.manifestName)"
        for file in contents.files.filter({ $0 == manifest }) + contents.files { try Files.removeTree(file) }
        // The deepest first.
        for folder in contents.folders.reversed() { Files.removeEmptyFolder(folder) }
    }

    /// Removes one entry of a survey.
    func remove(_ path: String, from subfolder: Subfolder) throws {
        switch subfolder {
        case .packages: try removePackage(path)
        case .quarantine where Files.kindWithoutFollowing(path) == .folder: try removePackage(path)
        default: try Files.removeTree(path)
        }
    }

    /// Removes everything except foreign files and the folders that contain them.
    func removeAll() throws {
        for subfolder in Subfolder.allCases {
            let survey = survey(subfolder)
            for path in survey.entries { try remove(path, from: subfolder) }
            for path in survey.partials { try Files.removeTree(path) }
            for folder in survey.inner + [path(subfolder)] { Files.removeEmptyFolder(folder) }
        }
        for path in topFiles where path != formatPath { try Files.removeTree(path) }
        // The format stays while foreign files do, so that the folder remains recognisable.
        if try Files.kindWithoutFollowing(top) == .folder && Files.list(top) == [Files.name(of: formatPath)] {
            try Files.removeTree(formatPath)
        }
        Files.removeEmptyFolder(top)
    }
}
