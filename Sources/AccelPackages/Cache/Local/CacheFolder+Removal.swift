import AccelByteIO

/// Removal of the cache's own files, and of nothing else.
extension CacheFolder {
    /// The content of a package's folder.
    private func contents(ofPackage path: String) -> PackageFolderContents {
        guard let key = Digest(hexadecimal: Files.name(of: path)), let record = try? record(key) else {
            return PackageFolderContents(of: path)
        }
        return PackageFolderContents(of: path, besides: record.files.map(\.path))
    }

    /// Returns the files in a package's folder that do not belong to the package.
    func foreignFiles(inPackage path: String) -> [String] { contents(ofPackage: path).foreign }

    /// Removes a package's files, the manifest first, and then its empty folders.
    func removePackage(_ path: String) throws {
        guard Files.kindWithoutFollowing(path) == .folder else { return }
        try contents(ofPackage: path).remove()
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
