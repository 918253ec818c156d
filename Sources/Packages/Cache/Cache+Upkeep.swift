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

    /// Removes what has not been used for longest until the rest fits, then what no record names any more. Records go
    /// before the blobs that they name, so that a reader finds a whole result or none.
    /// - Parameter maximumBytes: of blobs that stay.
    public func collect(maximumBytes: Int, graceSeconds: Int = Cache.graceSeconds) throws -> CleanUp {
        if let objection = readingObjection { throw RequestError("\(objection.reason)", status: .unavailable) }
        var report = CleanUp()
        var needed: [Digest: Int] = [:]
        var bytes = 0
        var isFull = false
        for entry in entries {
            let added = entry.record.files.filter { needed[$0.digest] == nil }
            let size = Dictionary(added.map { ($0.digest, $0.byteCount) }) { first, _ in first }.values.reduce(0, +)
            // Once one does not fit, no older one is kept either: age is what counts.
            isFull = isFull || size > maximumBytes - bytes
            if isFull {
                try Files.removeTree(folder.recordPath(entry.record.key.digest))
                report.removedRecords += 1
            } else {
                for file in added { needed[file.digest] = file.byteCount }
                bytes += size
                report.keptRecords += 1
            }
        }
        report.keptBytes = bytes
        let (digests, strays) = folder.entries(in: folder.blobsPath)
        let oldest = now - Int64(graceSeconds) * 1_000_000_000
        for path in digests.filter({ needed[$0] == nil }).map(folder.blobPath) + strays {
            try remove(path, ifOlderThan: oldest, &report)
        }
        try removeOldNotes()
        return report
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

    /// What was verified before the system was last started has to be verified again anyway.
    private func removeOldNotes() throws {
        let boots = (try? Files.list(folder.verifiedPath)) ?? []
        for boot in boots where boot != Files.bootIdentifier {
            try Files.removeTree("\(folder.verifiedPath)/\(boot)")
        }
    }

    /// Something in the cache that is not as it should be.
    public struct Damage: Equatable, Sendable {
        public var path: String
        public var reason: String
    }

    /// Reads every byte of the cache.
    /// - Parameter repairing: puts what is damaged into quarantine, so that it is computed again.
    /// - Returns: what is damaged, sorted by path; records that name a missing blob too.
    public func check(repairing: Bool = false, progress: (_ path: String) -> Void = { _ in }) throws -> [Damage] {
        if let objection = readingObjection { throw RequestError("\(objection.reason)", status: .unavailable) }
        var damage: [Damage] = []
        for digest in folder.entries(in: folder.blobsPath).digests {
            let path = folder.blobPath(digest)
            progress(path)
            guard let content = try? MappedFile(path).bytes else {
                damage.append(Damage(path: path, reason: "cannot be read"))
                continue
            }
            if SHA256.digest(of: content) != digest {
                damage.append(Damage(path: path, reason: "its bytes do not have the digest that is its name"))
            }
        }
        let broken = Set(damage.map(\.path))
        if repairing {
            for item in damage { folder.quarantine(item.path, reason: item.reason) }
        }
        for key in folder.entries(in: folder.recordsPath).digests {
            let path = folder.recordPath(key)
            do throws(CacheMiss) {
                for file in try folder.record(key).files
                where repairing || !broken.contains(folder.blobPath(file.digest)) {
                    _ = try folder.blob(file)
                }
            } catch {
                damage.append(Damage(path: path, reason: "\(error.reason)"))
                if repairing { folder.quarantine(path, reason: "\(error.reason)") }
            }
        }
        return damage.sorted { $0.path < $1.path }
    }

    /// Removes everything of this layout; other layouts belong to other versions, and stay.
    public func clear() throws {
        try Files.removeTree("\(root)/\(CacheFolder.layoutName)")
    }
}
