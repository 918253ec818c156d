import ByteIO

extension Cache {
    /// What a clean-up did.
    public struct CleanUp: Equatable, Sendable {
        public var removedRecords = 0
        public var removedBlobs = 0
        public var freedBytes = 0
        public var keptRecords = 0
        public var keptBytes = 0
        /// Bytes that nothing needs, but that are too young to be removed: somebody may be about to name them.
        public var youngBytes = 0
    }

    /// Blobs younger than this stay although no record names them: their record may be about to be written.
    public static let graceSeconds = 900
    /// What a cache may hold, and what it leaves free on its disk, where nothing else is asked for.
    public static let usualMaximumBytes = 10_000_000_000
    public static let usualFreeBytes = 1_000_000_000

    /// Removes what has not been used for longest until the rest fits, then what no record names any more. Records go
    /// before the blobs that they name, so that a reader finds a whole result or none; what somebody leases stays.
    /// - Parameters:
    ///   - maximumBytes: of blobs that stay.
    ///   - freeBytes: what should be free on the disk afterwards: as much more is removed as that takes.
    public func collect(
        maximumBytes: Int, freeBytes: Int = 0, graceSeconds: Int = Cache.graceSeconds
    ) throws -> CleanUp {
        if let objection = readingObjection { throw RequestError("\(objection.reason)", status: .unavailable) }
        let entries = entries
        let leased = CacheLease.keys(in: folder, now: now)
        func isLeased(_ entry: CacheEntry) -> Bool { leased.contains(entry.record.key.digest) }
        let missing = max(0, freeBytes - (Files.freeBytes(at: root) ?? freeBytes))
        let present = Self.sizes(of: entries).values.reduce(0, +)
        let limit = min(maximumBytes, max(0, present - missing))
        var report = CleanUp()
        var (kept, gone): ([CacheEntry], [CacheEntry]) = ([], [])
        var (needed, isFull): ([Digest: Int], Bool) = ([:], false)
        // What is leased stays in any case: the rest has to do with what that leaves.
        let (inUse, others) = (entries.filter { isLeased($0) }, entries.filter { !isLeased($0) })
        for entry in inUse + others {
            let added = Self.sizes(of: [entry]).filter { needed[$0.key] == nil }
            let size = added.values.reduce(0, +)
            // Once one does not fit, no older one is kept either: age is what counts.
            isFull = isFull || size > limit - report.keptBytes
            if isFull, !isLeased(entry) {
                try Files.removeTree(folder.recordPath(entry.record.key.digest))
                gone.append(entry)
            } else {
                kept.append(entry)
                needed.merge(added) { first, _ in first }
                report.keptBytes += size
            }
        }
        report.removedRecords = gone.count
        report.keptRecords = kept.count
        // Who leased a record before it went may be opening what it names.
        let late = CacheLease.keys(in: folder, now: now)
        let used = gone.filter { late.contains($0.record.key.digest) }
        needed.merge(Self.sizes(of: used)) { first, _ in first }

        let packages = Set((kept + used).map(\.record.key.digest))
        for key in folder.entries(in: folder.packagesPath).digests where !packages.contains(key) {
            try Files.removeTree(folder.packagePath(key))
        }
        let (digests, strays) = folder.entries(in: folder.blobsPath)
        let oldest = now - Int64(graceSeconds) * 1_000_000_000
        for path in digests.filter({ needed[$0] == nil }).map(folder.blobPath) + strays {
            try remove(path, ifOlderThan: oldest, &report)
        }
        try removeRemains()
        return report
    }

    private static func sizes(of entries: [CacheEntry]) -> [Digest: Int] {
        Dictionary(entries.flatMap(\.record.files).map { ($0.digest, $0.byteCount) }) { first, _ in first }
    }

    private func remove(_ path: String, ifOlderThan oldest: Int64, _ report: inout CleanUp) throws {
        guard let identity = Files.identity(of: path) else { return }
        guard identity.modifiedNanoseconds <= oldest else {
            report.youngBytes += Int(clamping: identity.size)
            return
        }
        try Files.removeTree(path)
        report.removedBlobs += 1
        report.freedBytes += Int(clamping: identity.size)
    }

    /// What is left of killed processes, of earlier runs of the system, and of damage that was found a week ago.
    private func removeRemains() throws {
        let boots = (try? Files.list(folder.verifiedPath)) ?? []
        for boot in boots where boot != Files.bootIdentifier {
            try Files.removeTree("\(folder.verifiedPath)/\(boot)")
        }
        let day: Int64 = 86400 * 1_000_000_000
        func isOlder(_ path: String, than age: Int64) -> Bool {
            Files.identity(of: path).map { now - $0.modifiedNanoseconds > age } ?? false
        }
        let others = [folder.locksPath, folder.recordsPath, folder.packagesPath, folder.memosPath]
        let locks = folder.entries(in: folder.locksPath).digests.map(folder.lockPath)
        for path in others.flatMap({ folder.entries(in: $0).strays }) + locks
        where isOlder(path, than: day) && !FileLock.isHeld(path) {
            try Files.removeTree(path)
        }
        for name in (try? Files.list(folder.quarantinePath)) ?? [] {
            let path = "\(folder.quarantinePath)/\(name)"
            if isOlder(path, than: 7 * day) { try Files.removeTree(path) }
        }
    }

    /// A clean-up with the usual limits, where none has been for a day, or the disk is nearly full.
    /// - Parameter maximumBytes: of what stays.
    public func tidy(maximumBytes: Int = Cache.usualMaximumBytes) {
        let path = "\(folder.top)/tidied"
        let age = Files.identity(of: path).map { now - $0.modifiedNanoseconds } ?? Int64.max
        let isShort = (Files.freeBytes(at: root) ?? .max) < Self.usualFreeBytes
        guard age > (isShort ? 600 : 86400) * 1_000_000_000 else { return }
        _ = writing { folder in
            // First: others need not do the same now.
            var file = try AtomicFile(replacing: path, isSynced: false)
            try file.write("\n")
            try file.commit()
            _ = try collect(maximumBytes: maximumBytes, freeBytes: Self.usualFreeBytes)
        }
    }
}
