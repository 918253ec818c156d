import AccelByteIO

extension Cache {
    /// The record of a package from an earlier conversion, when all its files are there, and its manifest says what the key asks
    /// for; the bytes of other files are not read.
    public func package(for key: CacheKey) -> Result<CacheRecord, CacheMiss> { package(for: key.digest) }

    /// The same, from the server where there is none here.
    public func obtained(_ key: CacheKey) -> Result<CacheRecord, CacheMiss> { obtained(key.digest) }

    /// The same, leased; from the server where there is none here.
    func obtained(_ key: Digest) -> Result<CacheRecord, CacheMiss> {
        lease(key)
        let found = package(for: key)
        guard let remote, found.failure != nil, readingObjection == nil else { return found }
        remote.fetch([key], into: self)
        return package(for: key)
    }

    func package(for key: Digest) -> Result<CacheRecord, CacheMiss> {
        do throws(CacheMiss) {
            if let objection = readingObjection { throw objection }
            let record = try folder.record(key)
            guard record.package != nil, record.files.contains(where: { $0.path == PackageFormat.manifestName }) else {
                throw CacheMiss(.malformedRecord("it is not that of a package"))
            }
            for file in record.files { _ = try folder.blob(file) }
            try folder.requireRightPackage(record)
            return .success(record)
        } catch {
            return .failure(error)
        }
    }

    /// A package from an earlier conversion as it lies in the cache, every content verified; from the server where there is none here.
    public func opened(_ key: CacheKey) -> Result<AcceleratorPackage, CacheMiss> {
        openedRecord(key).map(\.package)
    }

    private func openedRecord(_ key: CacheKey) -> Result<(record: CacheRecord, package: AcceleratorPackage), CacheMiss>
    {
        do throws(CacheMiss) {
            let record = try obtained(key.digest).get()
            return .success((record, try folder.package(record)))
        } catch {
            return .failure(error)
        }
    }

    /// Puts a package from an earlier conversion at `path`, whole or not at all: as clones of the cached files where the
    /// file system can, as links where they are large, else as copies. Linked files are read-only, as packages are.
    /// - Returns: the package, as the cache holds it, or why there is none.
    /// - Throws: `RequestError` when `path` cannot be written.
    public func place(
        _ key: CacheKey, at path: String, asArchive: Bool = false
    ) throws -> Result<AcceleratorPackage, CacheMiss> {
        let record: CacheRecord
        let package: AcceleratorPackage
        switch openedRecord(key) {
        case .success(let found): (record, package) = found
        case .failure(let miss): return .failure(miss)
        }
        let draft = try asArchive ? PackageDraft(beside: path) : PackageDraft(replacing: path)
        for file in record.files {
            let name = "\(draft.folder)/\(file.path)"
            try Files.makeFolder(Files.parentFolder(of: name) ?? draft.folder)
            if let miss = try put(file, at: name, mayLink: file.byteCount >= CacheFolder.linkedBytes && !asArchive) {
                return .failure(miss)
            }
        }
        // An earlier package at the path may be of names of the same files.
        try folder.keepingNotes(of: record.files) {
            if asArchive { try PackageWriter.archive(packageAt: draft.folder, to: path) }
            try draft.commit()
        }
        noteUse(of: key.digest)
        return .success(package)
    }

    /// Puts a verified file of a record at `path`.
    /// - Returns: why it is not there any more: somebody else's clean-up may have been faster.
    func put(_ file: CacheRecord.File, at path: String, mayLink: Bool) throws -> CacheMiss? {
        let source = folder.blobPath(file.digest)
        do {
            let mayLink = mayLink && folder.mayLink(source)
            try folder.keepingNotes(of: [file]) {
                try Files.copy(source, to: path, mayLink: mayLink, isSynced: false)
            }
        } catch {
            if Files.kind(of: source) == nil { return CacheMiss(.missingBlob(file.digest)) }
            throw error
        }
        return nil
    }

    /// Keeps a package that has just been written, before it is published: what lies at a public path may be somebody else's by
    /// now. Its large files become the cache's own as well, read-only, as those are that the cache hands out.
    /// - Parameters:
    ///   - path: the draft's folder, which nobody else knows.
    ///   - model: what to call it in lists.
    public func store(packageAt path: String, for key: CacheKey, model: String) {
        _ = writing { folder in
            lease(key.digest)
            let package = try AcceleratorPackage(at: path)
            if let contradiction = key.contradiction(with: package.manifest) {
                throw RequestError("the package is not what was asked for: \(contradiction)", status: .internalFailure)
            }
            let names = [PackageFormat.manifestName] + package.manifest.files.map(\.name)
            let files = try names.map { name in
                var file = try folder.putFile("\(path)/\(name)", mayLink: true)
                file.path = name
                return file
            }
            let record = CacheRecord(key: key, files: files, model: model, package: package.digest)
            try folder.putRecord(record)
            remote?.add(record)
        }
    }
}
