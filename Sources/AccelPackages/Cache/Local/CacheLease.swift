import AccelByteIO
import AccelPlatform

/// Shows evictions which records are in use: a file with one key per line, which is valid while it is locked.
///
/// A user first adds the key and then opens the record; an eviction first removes records and then reads the leases
/// again, before it removes blobs. So a user finds no record, or keeps its blobs.
public final class CacheLease: Sendable {
    /// The time for which leases without a lock (of another host, or of a process that ended on purpose) are valid
    /// after their last update.
    static let unlockedSeconds = 3600

    private let lock: FileLock
    private let heartbeat: Heartbeat
    private let keys = Locked<Set<Digest>>([])

    /// Returns nil if the cache cannot be written.
    convenience init?(_ folder: CacheFolder) {
        guard (try? folder.makeFolder(folder.leasesPath)) != nil else { return nil }
        self.init(in: folder.leasesPath)
    }

    /// Creates a lease in a folder of leases. Returns nil if it cannot be written.
    init?(in leases: String) {
        // An eviction that sees the file between its creation and its lock takes it for that of a dead process, hence
        // the retries.
        for _ in 0..<10 {
            guard case .locked(let lock) = FileLock.attempt("\(leases)/\(CacheNames.random())") else {
                continue
            }
            guard lock.append("\(Files.bootIdentifier ?? "-")\n") else { return nil }
            self.lock = lock
            heartbeat = Heartbeat(lock)
            return
        }
        return nil
    }

    func add(_ key: Digest) {
        guard keys.withLock({ $0.insert(key).inserted }) else { return }
        lock.append("\(key)\n")
    }

    /// Leases a record for an hour beyond the end of this process, for a path that was passed on.
    static func leave(_ key: Digest, in folder: CacheFolder) throws {
        try folder.makeFolder(folder.leasesPath)
        var file = try AtomicFile(
            replacing: "\(folder.leasesPath)/\(CacheNames.random())", as: .internal, isSynced: false)
        try file.write("-\n\(key)\n")
        try file.commit()
    }

    /// Returns the keys of all valid leases, and removes the files of other leases.
    static func keys(in folder: CacheFolder, now: Int64) -> Set<Digest> {
        keys(of: folder.survey(.leases).entries, in: folder.leasesPath, now: now)
    }

    /// - Parameters:
    ///   - paths: the files of the leases.
    ///   - leases: the folder that they lie in.
    static func keys(of paths: [String], in leases: String, now: Int64) -> Set<Digest> {
        var keys = Set<Digest>()
        guard !paths.isEmpty else { return keys }
        let locksWork = FileLock.areEffective(in: leases)
        for path in paths {
            guard let identity = Files.identity(of: path), let bytes = try? MappedFile(path).bytes else { continue }
            let lines = bytes.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
            let isOfThisBoot = lines.first.map(String.init) == Files.bootIdentifier
            let isYoung = now - identity.modifiedNanoseconds < Int64(unlockedSeconds) * 1_000_000_000
            guard locksWork && isOfThisBoot ? FileLock.isHeld(path) : isYoung else {
                // An empty file is being created.
                if !lines.isEmpty || !isYoung { try? Files.removeTree(path) }
                continue
            }
            keys.formUnion(lines.dropFirst().compactMap { Digest(hexadecimal: String($0)) })
        }
        return keys
    }
}
