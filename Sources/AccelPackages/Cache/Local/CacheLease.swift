import AccelByteIO
import AccelPlatform

/// Tells clean-ups which records somebody is using: a file with a key in each line, locked for as long as it counts.
///
/// A user adds the key first and opens the record then; a clean-up removes records first, and reads the leases again
/// before it removes what they name. So each user either finds no record, or keeps its contents.
public final class CacheLease: Sendable {
    /// Leases that no lock tells about (of another host, of a process that has ended on purpose) count for this long
    /// after they were last touched.
    static let unlockedSeconds = 3600

    private let lock: FileLock
    private let heartbeat: Heartbeat
    private let keys = Locked<Set<Digest>>([])

    /// nil where the cache cannot be written.
    init?(_ folder: CacheFolder) {
        guard (try? folder.makeFolder(folder.leasesPath)) != nil else { return nil }
        // A clean-up that looks at the file between its making and its lock takes it for one of a dead process.
        for _ in 0..<10 {
            guard case .locked(let lock) = FileLock.attempt("\(folder.leasesPath)/\(CacheNames.random())") else {
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

    /// Leases a record for the hour after this process: for a path that was told to somebody.
    static func leave(_ key: Digest, in folder: CacheFolder) throws {
        try folder.makeFolder(folder.leasesPath)
        var file = try AtomicFile(
            replacing: "\(folder.leasesPath)/\(CacheNames.random())", as: .internal, isSynced: false)
        try file.write("-\n\(key)\n")
        try file.commit()
    }

    /// The keys of all leases that count. Files of others are removed.
    static func keys(in folder: CacheFolder, now: Int64) -> Set<Digest> {
        var keys = Set<Digest>()
        let paths = folder.survey(.leases).entries
        guard !paths.isEmpty else { return keys }
        let locksWork = FileLock.areEffective(in: folder.leasesPath)
        for path in paths {
            guard let identity = Files.identity(of: path), let bytes = try? MappedFile(path).bytes else { continue }
            let lines = bytes.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
            let isOfThisBoot = lines.first.map(String.init) == Files.bootIdentifier
            let isYoung = now - identity.modifiedNanoseconds < Int64(unlockedSeconds) * 1_000_000_000
            guard locksWork && isOfThisBoot ? FileLock.isHeld(path) : isYoung else {
                // An empty one is just being made.
                if !lines.isEmpty || !isYoung { try? Files.removeTree(path) }
                continue
            }
            keys.formUnion(lines.dropFirst().compactMap { Digest(hexadecimal: String($0)) })
        }
        return keys
    }
}
