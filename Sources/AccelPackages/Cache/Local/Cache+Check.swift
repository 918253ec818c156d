import AccelByteIO

extension Cache {
    /// A damaged file of the cache.
    public struct Damage: Equatable, Sendable {
        /// The path of the file.
        public var path: String
        /// The kind of damage.
        public var reason: String
    }

    /// Reads and verifies every byte of the cache.
    /// - Parameters:
    ///   - repairing: quarantines damaged files, so that their results are computed again.
    ///   - exports: returns a reader for the provenance of a format's exports; nil for an unknown format, whose exports
    ///     are not checked.
    /// - Returns: The damaged files, sorted by path, including records that name a missing blob.
    public func check(
        repairing: Bool = false, exports: (_ format: String) -> ExportProvenance? = { _ in nil },
        progress: (_ path: String) -> Void = { _ in }
    ) throws -> [Damage] {
        try requireUsable()
        var damage: [Damage] = []
        for path in folder.survey(.memos).entries + folder.survey(.verified).entries {
            if case .failure(let reason) = content(path) { damage.append(Damage(path: path, reason: reason)) }
        }
        for digest in folder.survey(.blobs).digests {
            let path = folder.blobPath(digest)
            progress(path)
            let content: ByteView
            switch self.content(path) {
            case .success(nil): continue
            case .success(let found?): content = found
            case .failure(let reason):
                damage.append(Damage(path: path, reason: reason))
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
        for key in folder.survey(.records).digests {
            let path = folder.recordPath(key)
            do throws(CacheMiss) {
                let record = try folder.record(key)
                for file in record.files where !broken.contains(folder.blobPath(file.digest)) {
                    _ = try folder.blob(file)
                }
                if let file = record.files.first(where: { broken.contains(folder.blobPath($0.digest)) }) {
                    // The content is listed already. Records that name it are quarantined with it.
                    if repairing { folder.quarantine(path, reason: "its content \(file.digest) is damaged") }
                    continue
                }
                if let reason = contradiction(in: record, exports) { throw CacheMiss(.wrongResult(reason)) }
            } catch  where Files.kindWithoutFollowing(path) != nil {
                damage.append(Damage(path: path, reason: "\(error.reason)"))
                if repairing { folder.quarantine(path, reason: "\(error.reason)") }
            } catch {}
        }
        for key in folder.survey(.packages).digests {
            let path = folder.packagePath(key)
            guard let reason = flaw(ofPackage: key, at: path) else { continue }
            damage.append(Damage(path: path, reason: repairing ? "\(reason): the folder was removed" : reason))
            if repairing { try folder.removePackage(path) }
        }
        return damage.sorted { $0.path < $1.path }
    }

    /// Returns what is wrong with a package in place; nil if nothing is.
    private func flaw(ofPackage key: Digest, at path: String) -> String? {
        if let record = try? folder.record(key) {
            guard let changed = record.files.first(where: { !isWhole($0, in: path) }) else { return nil }
            return "its \(changed.path) is not the one that the record names"
        }
        do {
            try AcceleratorPackage(at: path).check()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns how a result contradicts the key of its record, after a comparison of every byte with the digests
    /// inside; nil if it does not.
    private func contradiction(in record: CacheRecord, _ exports: (String) -> ExportProvenance?) -> String? {
        switch record.key.kind {
        case .tensor, .statistics, .compressionPlan, .packedWeights: return nil
        case .export:
            let format = record.key.fields.first { $0.name == "export format" }?.value ?? ""
            guard let provenance = exports(String(format.prefix { $0 != " " })) else { return nil }
            return folder.contradiction(ofExport: record, provenance)
        case .package:
            do {
                try folder.openedPackage(record).check()
                return nil
            } catch let error as CacheMiss {
                return "\(error.reason)"
            } catch {
                return "\(error)"
            }
        }
    }

    private enum Found {
        /// nil if the file was just evicted.
        case success(ByteView?)
        case failure(String)
    }

    private func content(_ path: String) -> Found {
        do throws(CacheMiss) {
            if let content = try folder.opened(path)?.bytes { return .success(content) }
            return Files.kindWithoutFollowing(path) == nil ? .success(nil) : .failure("cannot be read")
        } catch {
            return .failure("\(error.reason)")
        }
    }

    private func isWhole(_ file: CacheRecord.File, in path: String) -> Bool {
        guard let content = (try? folder.opened("\(path)/\(file.path)"))?.bytes else { return false }
        return content.count == file.byteCount && SHA256.digest(of: content) == file.digest
    }

    /// The paths in the cache's folder that do not belong to the cache, sorted. They are never touched.
    public var foreign: [String] { readingMiss == nil ? folder.foreign : [] }

    /// Removes everything of this layout except foreign files; other layouts belong to other versions and stay.
    /// - Returns: The number of results that were there, and the bytes of their contents.
    /// - Throws: `RequestError` for a folder that is not a cache.
    @discardableResult
    public func clear() throws -> (results: Int, bytes: Int) {
        try requireUsable()
        let blobs = folder.survey(.blobs).digests.map(folder.blobPath)
        let bytes = blobs.reduce(0) { $0 + Int(clamping: Files.identity(of: $1)?.size ?? 0) }
        let results = folder.survey(.records).digests.count
        try folder.removeAll()
        state.withLock { $0.isPrepared = false }
        return (results, bytes)
    }

    /// Checks that the folder can be used. A missing folder is not an error.
    /// - Throws: `RequestError` for a folder that is not a cache, or belongs to another user.
    public func requireUsable() throws {
        if let miss = readingMiss {
            throw RequestError(
                "\(root) is not used as a cache: \(miss.reason)", status: .unavailable,
                code: miss.reason.diagnostic.code)
        }
    }
}
