import AccelByteIO

extension Cache {
    /// Returns the record of a package of an earlier conversion, if all its files exist and its manifest matches the
    /// key. The bytes of other files are not read.
    public func package(for key: CacheKey) -> Result<CacheRecord, CacheMiss> { package(for: key.digest) }

    /// Returns the record of a package, from the cache server if the local cache lacks it.
    public func obtained(_ key: CacheKey) -> Result<CacheRecord, CacheMiss> { obtained(key.digest) }

    /// Leases a record and returns it, from the cache server if the local cache lacks it.
    func obtained(_ key: Digest) -> Result<CacheRecord, CacheMiss> {
        lease(key)
        let found = package(for: key)
        guard let remote, found.failure != nil, readingMiss == nil else { return found }
        remote.fetch([key], into: self)
        let obtained = package(for: key)
        if obtained.failure == nil, let damage = found.failure?.reason, damage.isDamage {
            reportDamage(damage, mending: Self.fetching)
        }
        guard obtained.failure?.reason == .noRecord, let trouble = remote.trouble(with: key) else { return obtained }
        return .failure(CacheMiss(.notSupplied(trouble)))
    }

    func package(for key: Digest) -> Result<CacheRecord, CacheMiss> {
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
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

    /// Opens a package of an earlier conversion in the cache, with every file verified; from the cache server if the
    /// local cache lacks it.
    public func opened(_ key: CacheKey) -> Result<AcceleratorPackage, CacheMiss> {
        openedRecord(key).map(\.package)
    }

    private func openedRecord(_ key: CacheKey) -> Result<(record: CacheRecord, package: AcceleratorPackage), CacheMiss>
    {
        mended {
            do throws(CacheMiss) {
                let record = try obtained(key.digest).get()
                return .success((record, try folder.package(record)))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Looks a result up, and again while it is damaged and there is a cache server: each damaged file that is found is in quarantine
    /// then, and the server may have it whole.
    func mended<Found>(
        _ find: () throws -> Result<Found, CacheMiss>
    ) rethrows -> Result<Found, CacheMiss> {
        let first = try find()
        guard remote != nil, let damage = first.failure?.reason else { return first }
        var (found, last) = (first, CacheMiss.Reason.noRecord)
        // What cannot be moved to quarantine is found again.
        while let reason = found.failure?.reason, reason.isDamage, reason != last {
            last = reason
            found = try find()
        }
        guard found.failure == nil else { return first }
        reportDamage(damage, mending: Self.fetching)
        return found
    }

    private static let fetching = "fetched again from the cache server"

    /// Restores a package of an earlier conversion at `path`, completely or not at all: as clones of the cached files
    /// if the file system supports them, else as links if they are large, or as copies. Linked files are read-only, as
    /// those of all packages.
    /// - Returns: The package in the cache, or the cause of the miss.
    /// - Throws: `RequestError` if `path` cannot be written.
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
        // An earlier package at the path may consist of links to the same files.
        try folder.keepingNotes(of: record.files) {
            if asArchive { try PackageWriter.archive(packageAt: draft.folder, to: path) }
            try draft.commit()
        }
        noteUse(of: key.digest)
        return .success(package)
    }

    /// Puts a verified file of a record at `path`.
    /// - Returns: The cause of a miss if another process has evicted the file.
    func put(_ file: CacheRecord.File, at path: String, mayLink: Bool) throws -> CacheMiss? {
        let source = folder.blobPath(file.digest)
        do {
            let mayLink = mayLink && folder.mayLink(source)
            try folder.keepingNotes(of: [file]) {
                try Files.copy(source, to: path, mayLink: mayLink)
            }
        } catch {
            if Files.kind(of: source) == nil { return CacheMiss(.missingBlob(file.digest)) }
            throw error
        }
        return nil
    }

    /// Records that a package is wanted: what was used last is evicted last.
    package func noteUse(of key: CacheKey) { noteUse(of: key.digest) }

    /// Sends a package of the local cache to the cache server, if that lacks it.
    public func share(_ key: CacheKey) {
        remote?.add(missing: [key.digest], from: folder)
        finish()
    }

    /// Stores a new package before it is published, because other processes may change it afterwards. Its large files
    /// become read-only files that the cache shares.
    /// - Parameters:
    ///   - path: the draft's folder, which no other process uses.
    ///   - model: the name of the model in listings.
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
