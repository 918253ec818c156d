import AccelByteIO

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
        // What is leased stays in any case: the rest has to do with what that leaves.
        entries.filter(isLeased).forEach(keep)
        var old: [CacheEntry] = []
        for entry in entries where !isLeased(entry) {
            let size = Self.sizes(of: [entry]).filter { needed[$0.key] == nil }.values.reduce(0, +)
            // Once one does not fit, no older one is kept either: age is what counts.
            if old.isEmpty, size <= limit - report.keptBytes { keep(entry) } else { old.append(entry) }
        }
        let (removed, aside) = try removeRecords(old)
        report.removedRecords = removed.count
        old.filter { !removed.contains($0.record.key.digest) }.forEach(keep)
        // Who leased a tensor's record before it went may be opening its content.
        let late = CacheLease.keys(in: folder, now: now)
        needed.merge(Self.sizes(of: old.filter { late.contains($0.record.key.digest) })) { first, _ in first }
        for path in aside { try Files.removeTree(path) }
        let blobs = folder.survey(.blobs)
        let oldest = now - Int64(graceSeconds) * 1_000_000_000
        for path in blobs.digests.filter({ needed[$0] == nil }).map(folder.blobPath) + blobs.partials {
            try remove(path, ifOlderThan: oldest, &report)
        }
        try removeRemains()
        return report
    }

    /// Removes records, but for those that are leased by now, and the packages in place that have no record.
    /// - Returns: the keys that are gone; where the packages are now, to be removed.
    private func removeRecords(_ old: [CacheEntry]) throws -> (keys: Set<Digest>, packages: [String]) {
        try FileLock.guarding(folder.gatePath, exclusively: true) {
            let leased = CacheLease.keys(in: folder, now: now)
            let keys = Set(old.map(\.record.key.digest)).subtracting(leased)
            for key in keys { try Files.removeTree(folder.recordPath(key)) }
            let packages = try folder.survey(.packages).digests.compactMap { key throws -> String? in
                guard Files.kind(of: folder.recordPath(key)) == nil, !leased.contains(key) else { return nil }
                let package = folder.packagePath(key)
                guard folder.foreignFiles(inPackage: package).isEmpty else {
                    try folder.removePackage(package)
                    return nil
                }
                let path = try workPath()
                try Files.rename(package, to: path)
                return path
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
            report.youngBytes += Int(clamping: identity.size)
            return
        }
        try Files.removeTree(path)
        report.removedBlobs += 1
        report.freedBytes += Int(clamping: identity.size)
    }

    /// What is left of killed processes, of earlier runs of the system, and of damage that was found a week ago.
    private func removeRemains() throws {
        let day: Int64 = 86400 * 1_000_000_000
        func isOlder(_ path: String, than age: Int64) -> Bool {
            Files.identity(of: path).map { now - $0.modifiedNanoseconds > age } ?? false
        }
        for place in CacheFolder.Place.allCases where place != .blobs {
            let survey = folder.survey(place)
            // Contents have their own age; what is in use is locked.
            let old = survey.partials + (place == .locks || place == .work ? survey.entries : [])
            for path in old where isOlder(path, than: day) && !FileLock.isHeld(path) { try Files.removeTree(path) }
            if place == .quarantine {
                for path in survey.entries where isOlder(path, than: 7 * day) { try folder.remove(path, from: place) }
            }
            if place == .verified, let boot = Files.bootIdentifier {
                for path in survey.entries where Files.parentFolder(of: path).map(Files.name) != boot {
                    try Files.removeTree(path)
                }
                for folder in survey.inner { Files.removeEmptyFolder(folder) }
            }
        }
        let marks = folder.partialMarks + folder.topFiles.filter { $0.hasSuffix(".partial") }
        for path in marks where isOlder(path, than: day) { try Files.removeTree(path) }
    }

    /// What is left to be done after a conversion: sends the server what is new, and tidies.
    public func finish() {
        remote?.send(from: folder)
        tidy()
    }

    /// A clean-up with the usual limits, where none has been for a day, or the disk is nearly full.
    /// - Parameter maximumBytes: of what stays.
    func tidy(maximumBytes: Int = Cache.usualMaximumBytes) {
        let path = folder.tidiedPath
        let age = Files.identity(of: path).map { now - $0.modifiedNanoseconds } ?? Int64.max
        let isShort = (Files.freeBytes(at: root) ?? .max) < Self.usualFreeBytes
        guard age > (isShort ? 600 : 86400) * 1_000_000_000 else { return }
        _ = writing { folder in
            // First: others need not do the same now.
            var file = try AtomicFile(replacing: path, as: .internal, isSynced: false)
            try file.write("\n")
            try file.commit()
            _ = try collect(maximumBytes: maximumBytes, freeBytes: Self.usualFreeBytes)
        }
    }
}
