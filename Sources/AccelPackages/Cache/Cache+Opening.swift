public import AccelByteIO

/// A package that is open in the cache itself. It is not evicted while this value lives.
public final class CachedPackage: Sendable {
    /// The path of the package in the cache.
    public let path: String
    /// The open package.
    public let package: AcceleratorPackage
    /// Holds the lease.
    private let cache: Cache

    init(_ path: String, in cache: Cache) throws {
        self.path = path
        package = try AcceleratorPackage(at: path)
        self.cache = cache
    }
}

extension Cache {
    /// Opens a package of an earlier conversion in place, as hard links to the cache's files if the file system
    /// supports them.
    /// - Parameter key: the key in the form of `cache get` and `cache list`.
    /// - Throws: `RequestError` if the cache cannot be written.
    public func open(_ key: Digest) throws -> Result<CachedPackage, CacheMiss> {
        try mended { try openedHere(key) }
    }

    private func openedHere(_ key: Digest) throws -> Result<CachedPackage, CacheMiss> {
        if let miss = obtained(key).failure { return .failure(miss) }
        // An eviction may be removing a package that is stored again; the lock keeps it out.
        return try FileLock.guarding(folder.gatePath, exclusively: false) {
            lease(key)
            do {
                return .success(try opened(try package(for: key).get()))
            } catch let miss as CacheMiss {
                return .failure(miss)
            }
        }
    }

    private func opened(_ record: CacheRecord) throws -> CachedPackage {
        let path = folder.packagePath(record.key.digest)
        noteUse(of: record.key.digest)
        if Files.kindWithoutFollowing(path) == .folder {
            if record.files.allSatisfy({ isSound($0, in: path) }), let opened = try? CachedPackage(path, in: self) {
                return opened
            }
            try folder.removePackage(path)
            guard Files.kindWithoutFollowing(path) == nil else {
                throw CacheMiss(.unusable("\(path) holds files that accelc has not made; move them away"))
            }
        }
        for file in record.files { _ = try folder.verifiedBlob(file) }
        try folder.link(record.files, into: path)
        return try CachedPackage(path, in: self)
    }

    /// Opens a package for another process that gets its path; it is not evicted for an hour.
    public func openLasting(_ key: Digest) throws -> Result<CachedPackage, CacheMiss> {
        let opened = try open(key)
        if case .success = opened { try CacheLease.leave(key, in: folder) }
        return opened
    }

    private func isSound(_ file: CacheRecord.File, in path: String) -> Bool {
        let path = "\(path)/\(file.path)"
        guard let content = try? folder.opened(path) else { return false }
        return content.bytes.count == file.byteCount && folder.isSound(content, file.digest)
    }
}

extension CacheFolder {
    /// Creates a folder with links to blobs under their files' names. An existing folder is kept.
    func link(_ files: [CacheRecord.File], into path: String) throws {
        try makeParent(of: path)
        let partial = try TemporaryFolder(beside: path, mode: folderMode)
        for file in files {
            let name = "\(partial.path)/\(file.path)"
            try makeParent(of: name)
            let blob = blobPath(file.digest)
            try keepingNotes(of: [file]) { try Files.copy(blob, to: name, mode: 0o444, mayLink: mayLink(blob)) }
        }
        // False if another process has created the same folder.
        _ = try partial.publish(asNew: path)
    }
}
