import AccelByteIO

/// The guarantee for results that were stored just before a power failure. A damaged result is always a miss.
public enum CacheDurability: String, CaseIterable, Sendable {
    /// None.
    case none
    /// Results survive if the drive keeps the data that it has acknowledged.
    case fsync
    /// Results survive; the drive is asked to empty its own cache, on systems that distinguish the two.
    case full
}

/// The files of the cache: content-addressed blobs, and records that name them. A record is written after its blobs, so
/// a reader finds a complete result, or a record with missing blobs, which counts as a miss.
///
/// By default nothing is synced: after a power failure a file may be short or zeroed. But every blob is verified when
/// it is first used after a start of the system.
struct CacheFolder: Sendable {
    /// A new layout uses a new folder beside this one, and does not touch it.
    static let layout = 1
    static let layoutName = "v\(layout)"

    let root: String
    var durability = CacheDurability.none
    /// The cache may belong to other users, or be writable for them.
    var trustsOthers = false
    private var isSynced: Bool { durability != .none }
    var top: String { "\(root)/\(Self.layoutName)" }

    /// The lock that is shared while packages are opened in place, and exclusive while they are removed.
    var gatePath: String { "\(top)/gate" }
    /// A file whose time is that of the last automatic eviction.
    var tidiedPath: String { "\(top)/tidied" }
    var quarantinePath: String { path(.quarantine) }
    var workPath: String { path(.work) }
    var leasesPath: String { path(.leases) }

    func blobPath(_ digest: Digest) -> String { path(.blobs, digest) }
    func recordPath(_ key: Digest) -> String { path(.records, key) }
    func memoPath(_ name: Digest) -> String { path(.memos, name) }
    /// Returns the path of a package in a folder of its own, to be opened in place.
    func packagePath(_ key: Digest) -> String { path(.packages, key) }
    func lockPath(_ key: Digest) -> String { path(.locks, key) }

    func path(_ subfolder: Subfolder, _ digest: Digest) -> String {
        "\(path(subfolder))/\(CacheNames.shard(of: digest))/\(digest)"
    }

    /// Creates a folder in the cache, with its missing parents.
    func makeFolder(_ path: String) throws { try Files.makeFolder(path, mode: folderMode) }

    func makeParent(of path: String) throws { try makeFolder(Files.parentFolder(of: path) ?? root) }

    /// Other users have no access to a cache, unless that was requested.
    var folderMode: UInt16 { trustsOthers ? 0o777 : 0o700 }

    /// Stores a blob, given in parts.
    func putBlob(_ parts: [ByteView]) throws -> CacheRecord.File {
        var hash = SHA256()
        for part in parts { part.withBytes { hash.update($0) } }
        let digest = hash.finalize()
        let size = parts.reduce(0) { $0 + $1.count }
        let path = blobPath(digest)
        if !hasBlob(path, digest, size: size) {
            try makeParent(of: path)
            var file = try AtomicFile(replacing: path, as: .internal, mode: 0o444, isSynced: isSynced)
            for part in parts { try file.write(part) }
            try file.commit()
        }
        return CacheRecord.File(path: "", digest: digest, byteCount: size)
    }

    /// Stores the content of a file: as a clone if the file system supports it, as a hard link if it is large and
    /// `mayLink`, which makes it read-only, or as a copy.
    func putFile(_ source: String, mayLink: Bool = false) throws -> CacheRecord.File {
        let content = try MappedFile(source).bytes
        let file = CacheRecord.File(path: "", digest: SHA256.digest(of: content), byteCount: content.count)
        try putFile(source, as: file, mayLink: mayLink)
        return file
    }

    /// Stores the content of a file with a known digest.
    func putFile(_ source: String, as file: CacheRecord.File, mayLink: Bool) throws {
        let path = blobPath(file.digest)
        if hasBlob(path, file.digest, size: file.byteCount) { return }
        try makeParent(of: path)
        let isLarge = mayLink && file.byteCount >= Self.linkedBytes
        let method = try Files.copyAtomically(
            source, to: path, as: .internal, mode: 0o444, mayLink: isLarge, isSynced: isSynced)
        // The digest was computed from these bytes.
        if method == .link { noteVerified(path, file.digest) }
    }

    /// Returns whether links to a blob may be handed out: it is read-only, and belongs to this user.
    func mayLink(_ path: String) -> Bool { isOurs(path) && Files.access(of: path)?.isWritable == false }

    /// The size from which on files are linked instead of copied.
    static let linkedBytes = 1 << 20

    /// Returns whether a valid blob exists; after a power failure there may be a zeroed one that no record names. The
    /// blob counts as used now, so that it is not removed before its record is written.
    private func hasBlob(_ path: String, _ digest: Digest, size: Int) -> Bool {
        Files.touch(path)
        return (try? verifiedBlob(CacheRecord.File(path: "", digest: digest, byteCount: size))) != nil
    }

    func putRecord(_ record: CacheRecord) throws {
        let path = recordPath(record.key.digest)
        try makeParent(of: path)
        // One request empties the drive's cache for all files: the blobs before their record.
        if durability == .full {
            for file in record.files { Files.sync(blobPath(file.digest), throughDriveCache: true) }
        }
        try AtomicFile.write(record.encoded, to: path, as: .internal, isSynced: isSynced)
        if durability == .full { Files.sync(path, throughDriveCache: true) }
    }

    func record(_ key: Digest) throws(CacheMiss) -> CacheRecord {
        let path = recordPath(key)
        guard let file = try opened(path) else { throw CacheMiss(.noRecord) }
        let record: CacheRecord
        do {
            record = try CacheRecord(file.bytes, file: path)
        } catch {
            throw CacheMiss(.malformedRecord("\(error)"))
        }
        guard record.key.digest == key else { throw CacheMiss(.malformedRecord("it is the record of another key")) }
        return record
    }
}
