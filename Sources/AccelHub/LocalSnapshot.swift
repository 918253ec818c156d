import AccelByteIO

/// The files of a commit that the cache has.
struct LocalSnapshot {
    let cache: RepositoryCache
    let reference: HubReference
    let commit: String

    /// Returns the snapshot if it has all files that a download would take.
    ///
    /// Without a record of the commit's files, such as after a download by an older tool, nobody knows whether there is a
    /// tokenizer or a chat template besides: then the snapshot counts only where no request may be made.
    /// - Throws: `HubError` (`offline`) naming the first missing file, if no request may be made.
    func snapshot(isOffline: Bool) throws -> HubSnapshot? {
        let record = cache.listing(of: commit)
        guard let listing = try record ?? (isOffline ? presentFiles() : nil) else { return nil }
        let selection = try HubSelection(of: listing, for: reference)
        var paths = selection.configuration + selection.texts
        switch selection.weights {
        case .files(let files): paths += files
        case .index(let index):
            paths.append(index)
            let path = "\(cache.snapshot(commit))/\(index)"
            if Files.kind(of: path) == .file {
                paths += try HubSelection.shards(ofIndex: path, named: index, reference)
            }
        }
        for path in paths where try !cache.has(listing.files[path] ?? HubFile(path: path), at: commit) {
            guard isOffline else { return nil }
            throw HubError(.offline, subject: "\(reference)", location: path)
        }
        return selection.snapshot(cache.snapshot(commit), commit)
    }

    /// Returns the files that the snapshot has.
    private func presentFiles() throws -> HubListing {
        let folder = cache.snapshot(commit)
        func paths(in folder: String, _ prefix: String) throws -> [String] {
            try Files.list(folder).flatMap { name in
                let path = "\(folder)/\(name)"
                let isFolder = Files.kindWithoutFollowing(path) == .folder
                return isFolder ? try paths(in: path, "\(prefix)\(name)/") : [prefix + name]
            }
        }
        guard Files.kind(of: folder) == .folder else {
            throw HubError(.offline, subject: "\(reference)", location: folder)
        }
        return HubListing(commit: commit, files: try paths(in: folder, "").map { HubFile(path: $0) })
    }
}

extension HubSelection {
    /// Returns the result for a folder that has the files.
    func snapshot(_ folder: String, _ commit: String) -> HubSnapshot {
        var file: String?
        if isSingleFile, case .files(let files) = weights { file = files.first.map { "\(folder)/\($0)" } }
        return HubSnapshot(folder: folder, commit: commit, file: file)
    }
}
