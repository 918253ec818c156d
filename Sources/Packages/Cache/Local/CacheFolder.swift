import ByteIO

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
    private var isSynced: Bool { durability != .none }
    var top: String { "\(root)/\(Self.layoutName)" }

    var blobsPath: String { "\(top)/cas" }
    var recordsPath: String { "\(top)/ac" }
    var memosPath: String { "\(top)/memo" }
    var verifiedPath: String { "\(top)/verified" }
    var quarantinePath: String { "\(top)/quarantine" }
    var packagesPath: String { "\(top)/packages" }
    /// Locked by whoever opens packages here, and exclusively by who removes them.
    var gatePath: String { "\(top)/gate" }
    var workPath: String { "\(top)/tmp" }
    var locksPath: String { "\(top)/lock" }
    var leasesPath: String { "\(top)/lease" }

    func blobPath(_ digest: Digest) -> String { Self.path(blobsPath, digest) }
    func recordPath(_ key: Digest) -> String { Self.path(recordsPath, key) }
    func memoPath(_ name: Digest) -> String { Self.path(memosPath, name) }
    /// A package in one folder, for others to open in place.
    func packagePath(_ key: Digest) -> String { Self.path(packagesPath, key) }
    func lockPath(_ key: Digest) -> String { Self.path(locksPath, key) }

    private static func path(_ folder: String, _ digest: Digest) -> String {
        let name = digest.description
        return "\(folder)/\(name.prefix(2))/\(name)"
    }

    /// Makes what tells people and backup programs what this folder is.
    func prepare() throws {
        try Files.makeFolder(top)
        if minimumReader == nil { try Files.removeTree(formatPath) }
        try writeOnce(formatPath, #"{"layout":\#(Self.layout),"min_reader":1}"# + "\n")
        try writeOnce(
            "\(root)/CACHEDIR.TAG",
            """
            Signature: 8a477f597d28d172789f06886806bc55
            # This file marks a cache folder of accelc: see https://bford.info/cachedir/

            """)
        try writeOnce(
            "\(root)/README",
            """
            accelc keeps here what conversions can use again. All of it can be removed at any time, best with
            `accelc cache clear`; `accelc cache gc` removes what has not been used for long. \(Self.layoutName)/ is the layout
            of this version: cas/ holds contents by their SHA-256, ac/ says which conversion had which contents.

            """)
    }

    private func writeOnce(_ path: String, _ text: String) throws {
        guard Files.kind(of: path) == nil else { return }
        var file = try AtomicFile(replacing: path, isSynced: false)
        try file.write(text)
        try file.commit()
    }

    /// Why this tool cannot use what is there; nil when it can. A file that a power cut has emptied says nothing.
    func objection() -> String? {
        guard let minimum = minimumReader, minimum > 1 else { return nil }
        return "\(formatPath) asks for a newer accelc; the cache is left alone"
    }

    private var formatPath: String { "\(top)/format.json" }
    private var minimumReader: Int? { try? JSONField(JSON.read(formatPath), file: formatPath)["min_reader"].int() }

    /// Keeps content, one part after the other.
    func putBlob(_ parts: [ByteView]) throws -> CacheRecord.File {
        var hash = SHA256()
        for part in parts { part.withBytes { hash.update($0) } }
        let digest = hash.finalize()
        let size = parts.reduce(0) { $0 + $1.count }
        let path = blobPath(digest)
        if !hasBlob(path, digest, size: size) {
            try Files.makeFolder(Files.parentFolder(of: path) ?? root)
            var file = try AtomicFile(replacing: path, mode: 0o444, isSynced: isSynced)
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
        try Files.makeFolder(folder)
        let partial = "\(folder)/.\(randomName()).partial"
        do {
            let isLarge = mayLink && file.byteCount >= Self.linkedBytes
            let method = try Files.copy(source, to: partial, mode: 0o444, mayLink: isLarge, isSynced: isSynced)
            if method == .link {
                try Files.makeReadOnly(partial)
                if isSynced { Files.sync(partial) }
            }
            try Files.rename(partial, to: path)
            // These are the very bytes that the digest was computed of.
            if method == .link { noteVerified(path) }
        } catch {
            try? Files.removeTree(partial)
            throw error
        }
        if isSynced { Files.sync(folder) }
    }

    /// Files from this size on are linked rather than copied.
    static let linkedBytes = 64 << 20

    func randomName() -> String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
    }

    /// Whether the blob is there already, and sound: a power cut may have left one of zeros, that no record names. It counts
    /// as used now, so that it is not collected before its record is there.
    private func hasBlob(_ path: String, _ digest: Digest, size: Int) -> Bool {
        Files.touch(path)
        return (try? verifiedBlob(CacheRecord.File(path: "", digest: digest, byteCount: size))) != nil
    }

    func putRecord(_ record: CacheRecord) throws {
        let path = recordPath(record.key.digest)
        try Files.makeFolder(Files.parentFolder(of: path) ?? root)
        // All that is in the drive's cache goes to the disk with one request: the blobs before their record.
        if durability == .full {
            for file in record.files { Files.sync(blobPath(file.digest), throughDriveCache: true) }
        }
        var file = try AtomicFile(replacing: path, isSynced: isSynced)
        try file.write(record.encoded)
        try file.commit()
        if durability == .full { Files.sync(path, throughDriveCache: true) }
    }

    func record(_ key: Digest) throws(CacheMiss) -> CacheRecord {
        let path = recordPath(key)
        guard Files.kindWithoutFollowing(path) == .file else { throw CacheMiss(.noRecord) }
        let record: CacheRecord
        do {
            record = try CacheRecord(try MappedFile(path).bytes, file: path)
        } catch {
            throw CacheMiss(.malformedRecord("\(error)"))
        }
        guard record.key.digest == key else { throw CacheMiss(.malformedRecord("it is the record of another key")) }
        return record
    }

    /// The files of a folder of two-digit folders: their digests, sorted; and the paths of what should not be there.
    func entries(in folder: String) -> (digests: [Digest], strays: [String]) {
        var digests: [Digest] = []
        var strays: [String] = []
        for shard in (try? Files.list(folder)) ?? [] {
            for name in (try? Files.list("\(folder)/\(shard)")) ?? [] {
                if let digest = Digest(hexadecimal: name), name.prefix(2) == shard {
                    digests.append(digest)
                } else {
                    strays.append("\(folder)/\(shard)/\(name)")
                }
            }
        }
        return (digests, strays)
    }
}
