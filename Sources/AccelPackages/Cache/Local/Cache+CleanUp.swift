import AccelByteIO

extension Cache {
    /// The result of an eviction.
    public struct CleanUp: Equatable, Sendable {
        /// The number of evicted records.
        public var removedRecords = 0
        /// The number of removed blobs.
        public var removedBlobs = 0
        /// The bytes that were freed.
        public var freedBytes = 0
        /// The number of records that stay.
        public var keptRecords = 0
        /// The bytes of their blobs.
        public var keptBytes = 0
        /// The number of records that are in use, so that they stay whatever the limit.
        public var leasedRecords = 0
        /// The number of records that stay whatever the limit because a blob of theirs is too young: without the record it would
        /// only be harder to find.
        public var youngRecords = 0
        /// The bytes of their blobs, without those that records in use have, too: what stays because of the young ones.
        public var youngRecordBytes = 0
        /// The number of blobs that no record names but that are too young to be removed, because a record may follow.
        public var youngBlobs = 0
        /// The bytes of the blobs that are too young.
        public var youngBytes = 0
    }

    /// The age below which a blob is kept, because a record of it may be about to be written.
    public static let graceSeconds = 900
    /// The default limit of the cache's size.
    public static let usualMaximumBytes = 10_000_000_000
    /// The default of free bytes that are left on the disk.
    public static let usualFreeBytes = 1_000_000_000

    /// Evicts packed weights, which are derived from packages, then the least recently used records until the rest fits, then
    /// removes blobs without a record. Records are removed before their blobs, so that a reader finds a complete result or none.
    /// Leased records stay, and records with a blob that is too young to be removed.
    /// - Parameters:
    ///   - maximumBytes: the most bytes of blobs that stay.
    ///   - freeBytes: the bytes that should be free on the disk afterwards; more is evicted to reach it.
    ///   - graceSeconds: the age below which blobs stay. With 0 a conversion that runs meanwhile may have to make results again.
    public func collect(
        maximumBytes: Int, freeBytes: Int = 0, graceSeconds: Int = Cache.graceSeconds
    ) throws -> CleanUp {
        try requireUsable()
        let entries = entries
        let leased = CacheLease.keys(in: folder, now: now)
        func isLeased(_ entry: CacheEntry) -> Bool { leased.contains(entry.record.key.digest) }
        let missing = max(0, freeBytes - (Files.freeBytes(at: root) ?? freeBytes))
        let present = Self.sizes(of: entries).values.reduce(0, +)
        let limit = min(maximumBytes, max(0, present - missing))
        var report = CleanUp()
        var needed: [Digest: Int] = [:]
        func keep(_ entry: CacheEntry) {
            for file in entry.record.files where needed.updateValue(file.byteCount, forKey: file.digest) == nil {
                report.keptBytes += file.byteCount
            }
            report.keptRecords += 1
        }
        // Leased and young records stay in any case; the others share the remaining space. Leased ones come first: what
        // a young record shares with them would stay without it, too.
        let oldest = now - Int64(graceSeconds) * 1_000_000_000
        var fixed = Set<Digest>()
        for entry in entries where isLeased(entry) {
            keep(entry)
            fixed.insert(entry.record.key.digest)
            report.leasedRecords += 1
        }
        let leasedBytes = report.keptBytes
        for entry in entries where !isLeased(entry) && isYoung(entry, since: oldest) {
            keep(entry)
            fixed.insert(entry.record.key.digest)
            report.youngRecords += 1
        }
        report.youngRecordBytes = report.keptBytes - leasedBytes
        var old: [CacheEntry] = []
        let isDerived = { (entry: CacheEntry) in entry.record.key.kind == .packedWeights }
        for entry in entries.filter({ !isDerived($0) }) + entries.filter(isDerived)
        where !fixed.contains(entry.record.key.digest) {
            let size = Self.sizes(of: [entry]).filter { needed[$0.key] == nil }.values.reduce(0, +)
            // After the first record that does not fit, no older one is kept: only age counts.
            if old.isEmpty, size <= limit - report.keptBytes { keep(entry) } else { old.append(entry) }
        }
        let (removed, aside) = try removeRecords(old)
        report.removedRecords = removed.count
        old.filter { !removed.contains($0.record.key.digest) }.forEach(keep)
        // A process that leased a record just before its eviction may be opening its blobs.
        let late = CacheLease.keys(in: folder, now: now)
        needed.merge(Self.sizes(of: old.filter { late.contains($0.record.key.digest) })) { first, _ in first }
        // Their folders are removed with the last references.
        withExtendedLifetime(aside) {}
        let blobs = folder.survey(.blobs)
        for path in blobs.digests.filter({ needed[$0] == nil }).map(folder.blobPath) {
            try remove(path, ifOlderThan: oldest, &report)
        }
        for path in blobs.partials {
            let size = Files.identity(of: path).map { Int(clamping: $0.size) } ?? 0
            if TemporaryPaths.removeIfAbandoned(path) {
                report.removedBlobs += 1
                report.freedBytes += size
            } else if !FileLock.isHeld(path) {
                try remove(path, ifOlderThan: oldest, &report)
            }
        }
        try removeRemains()
        return report
    }

    /// Returns whether a blob of a record was made or stored again after a time.
    private func isYoung(_ entry: CacheEntry, since oldest: Int64) -> Bool {
        entry.record.files.contains { file in
            Files.identity(of: folder.blobPath(file.digest)).map { $0.modifiedNanoseconds > oldest } ?? false
        }
    }

    /// Removes records, except those that are leased by now, and packages in place without a record.
    /// - Returns: The removed keys, and folders with packages that are to be removed.
    private func removeRecords(_ old: [CacheEntry]) throws -> (keys: Set<Digest>, packages: [TemporaryFolder]) {
        try FileLock.guarding(folder.gatePath, exclusively: true) {
            let leased = CacheLease.keys(in: folder, now: now)
            let keys = Set(old.map(\.record.key.digest)).subtracting(leased)
            for key in keys { try Files.removeTree(folder.recordPath(key)) }
            let packages = try folder.survey(.packages).digests.compactMap { key throws -> TemporaryFolder? in
                guard Files.kind(of: folder.recordPath(key)) == nil, !leased.contains(key) else { return nil }
                let package = folder.packagePath(key)
                guard folder.foreignFiles(inPackage: package).isEmpty else {
                    try folder.removePackage(package)
                    return nil
                }
                let aside = try TemporaryFolder(beside: try workPath(), mode: 0o700)
                try Files.rename(package, to: "\(aside.path)/package")
                return aside
            }
            return (keys, packages)
        }
    }

    private static func sizes(of entries: [CacheEntry]) -> [Digest: Int] {
        Dictionary(entries.flatMap(\.record.files).map { ($0.digest, $0.byteCount) }) { first, _ in first }
    }

    private func remove(_ path: String, ifOlderThan oldest: Int64, _ report: inout CleanUp) throws {
        guard let identity = Files.identity(of: path) else { return }
        guard identity.modifiedNanoseconds <= oldest else {
            report.youngBlobs += 1
            report.youngBytes += Int(clamping: identity.size)
            return
        }
        try Files.removeTree(path)
        report.removedBlobs += 1
        report.freedBytes += Int(clamping: identity.size)
    }

    /// Removes leftovers of killed processes and of earlier boots, and files that were quarantined a week ago.
    private func removeRemains() throws {
        let day: Int64 = 86400 * 1_000_000_000
        func isOlder(_ path: String, than age: Int64) -> Bool {
            Files.identity(of: path).map { now - $0.modifiedNanoseconds > age } ?? false
        }
        for subfolder in CacheFolder.Subfolder.allCases where subfolder != .blobs {
            let survey = folder.survey(subfolder)
            // Blobs are handled by age elsewhere; files in use are locked.
            let old = survey.partials + (subfolder == .locks || subfolder == .work ? survey.entries : [])
            for path in old where !TemporaryPaths.removeIfAbandoned(path) {
                if isOlder(path, than: day) && !FileLock.isHeld(path) { try Files.removeTree(path) }
            }
            if subfolder == .quarantine {
                for path in survey.entries where isOlder(path, than: 7 * day) {
                    try folder.remove(path, from: subfolder)
                }
            }
            if subfolder == .verified, let boot = Files.bootIdentifier {
                for path in survey.entries where Files.parentFolder(of: path).map(Files.name) != boot {
                    try Files.removeTree(path)
                }
                for folder in survey.inner { Files.removeEmptyFolder(folder) }
            }
        }
        let marks = folder.partialMarks + folder.topFiles.filter { $0.hasSuffix(".partial") }
        for path in marks where !TemporaryPaths.removeIfAbandoned(path) {
            if isOlder(path, than: day) { try Files.removeTree(path) }
        }
    }

    /// The bytes of damaged files that are kept aside for a week.
    public var quarantinedBytes: Int {
        folder.survey(.quarantine).entries.reduce(0) {
            $0 + (Files.identity(of: $1).map { Int(clamping: $0.size) } ?? 0)
        }
    }

    /// Completes a conversion: sends new results to the server, and evicts if it is time.
    public func finish() {
        remote?.send(from: folder)
        tidy()
    }

    /// Evicts with the default limits, at most once a day unless the disk is nearly full.
    /// - Parameter maximumBytes: the most bytes that stay.
    func tidy(maximumBytes: Int = Cache.usualMaximumBytes) {
        let path = folder.tidiedPath
        let age = Files.identity(of: path).map { now - $0.modifiedNanoseconds } ?? Int64.max
        let isShort = (Files.freeBytes(at: root) ?? .max) < Self.usualFreeBytes
        guard age > (isShort ? 600 : 86400) * 1_000_000_000 else { return }
        _ = writing { folder in
            // Written first, so that no other process does the same.
            try AtomicFile.write("\n", to: path, as: .internal, isSynced: false)
            _ = try collect(maximumBytes: maximumBytes, freeBytes: Self.usualFreeBytes)
        }
    }
}
