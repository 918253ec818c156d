import AccelByteIO

/// What is left of a result that was stored just before a power cut. Whatever is chosen, a damaged result is a miss.
public enum CacheDurability: String, CaseIterable, Sendable {
    /// Perhaps nothing.
    case none
    /// All of it, where the drive keeps what it has been given.
    case fsync
    /// All of it; asks the drive to empty its own cache, where the system knows the difference.
    case full
}

/// The cache's files. Content-addressed blobs and records that name them; a record is written after its blobs, so what
/// a reader finds is whole, or is missing something and counts for nothing.
///
/// Unless `durability` asks for more, nothing is synced to the disk: after a power cut a file may be short or zeroed, but
/// every content is verified when it is first used after a start of the system.
struct CacheFolder: Sendable {
    /// A new layout gets a new folder beside this one, and leaves it alone.
    static let layout = 1
    static let layoutName = "v\(layout)"

    let root: String
    var durability = CacheDurability.none
    /// Whether the cache may belong to others, or be written by them.
    var trustsOthers = false
    private var isSynced: Bool { durability != .none }
    var top: String { "\(root)/\(Self.layoutName)" }

    /// Locked by whoever opens packages here, and exclusively by who removes them.
    var gatePath: String { "\(top)/gate" }
    /// Its time is that of the last clean-up that nobody asked for.
    var tidiedPath: String { "\(top)/tidied" }
    var quarantinePath: String { path(.quarantine) }
    var workPath: String { path(.work) }
    var leasesPath: String { path(.leases) }

    func blobPath(_ digest: Digest) -> String { path(.blobs, digest) }
    func recordPath(_ key: Digest) -> String { path(.records, key) }
    func memoPath(_ name: Digest) -> String { path(.memos, name) }
    /// A package in one folder, for others to open in place.
    func packagePath(_ key: Digest) -> String { path(.packages, key) }
    func lockPath(_ key: Digest) -> String { path(.locks, key) }

    func path(_ place: Place, _ digest: Digest) -> String {
        "\(path(place))/\(CacheNames.shard(of: digest))/\(digest)"
    }

    /// Makes a folder within the cache, and those above it that are missing.
    func makeFolder(_ path: String) throws { try Files.makeFolder(path, mode: folderMode) }

    func makeParent(of path: String) throws { try makeFolder(Files.parentFolder(of: path) ?? root) }

    /// Nobody else reads a cache, or writes to it, unless that was asked for.
    private var folderMode: UInt16 { trustsOthers ? 0o777 : 0o700 }

    /// Keeps content, one part after the other.
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

    /// Keeps the content of a file: as a clone where the file system can, as another name of the file where it is large and
    /// `mayLink`, which makes it read-only, else as a copy.
    func putFile(_ source: String, mayLink: Bool = false) throws -> CacheRecord.File {
        let content = try MappedFile(source).bytes
        let file = CacheRecord.File(path: "", digest: SHA256.digest(of: content), byteCount: content.count)
        try putFile(source, as: file, mayLink: mayLink)
        return file
    }

    /// The same for a file whose digest is known.
    func putFile(_ source: String, as file: CacheRecord.File, mayLink: Bool) throws {
        let path = blobPath(file.digest)
        if hasBlob(path, file.digest, size: file.byteCount) { return }
        let folder = Files.parentFolder(of: path) ?? root
        try makeFolder(folder)
        let partial = "\(folder)/\(CacheNames.partial())"
        do {
            let isLarge = mayLink && file.byteCount >= Self.linkedBytes
            let method = try Files.copy(source, to: partial, mode: 0o444, mayLink: isLarge, isSynced: isSynced)
            if method == .link {
                try Files.makeReadOnly(partial)
                if isSynced { Files.sync(partial) }
            }
            try Files.rename(partial, to: path)
            // These are the very bytes that the digest was computed of.
            if method == .link { noteVerified(path, file.digest) }
        } catch {
            try? Files.removeTree(partial)
            throw error
        }
        if isSynced { Files.sync(folder) }
    }

    /// Whether another name for a blob may be handed out: it is read-only, and its owner is who asks.
    func mayLink(_ path: String) -> Bool { isOurs(path) && Files.access(of: path)?.isWritable == false }

    /// Files from this size on are linked rather than copied.
    static let linkedBytes = 64 << 20

    /// Whether the blob is there already, and sound: a power cut may have left one of zeros, that no record names. It counts
    /// as used now, so that it is not collected before its record is there.
    private func hasBlob(_ path: String, _ digest: Digest, size: Int) -> Bool {
        Files.touch(path)
        return (try? verifiedBlob(CacheRecord.File(path: "", digest: digest, byteCount: size))) != nil
    }

    func putRecord(_ record: CacheRecord) throws {
        let path = recordPath(record.key.digest)
        try makeParent(of: path)
        // All that is in the drive's cache goes to the disk with one request: the blobs before their record.
        if durability == .full {
            for file in record.files { Files.sync(blobPath(file.digest), throughDriveCache: true) }
        }
        var file = try AtomicFile(replacing: path, as: .internal, isSynced: isSynced)
        try file.write(record.encoded)
        try file.commit()
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
