import ByteIO

extension Cache {
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
                // A clean-up may just have removed it.
                if Files.kindWithoutFollowing(path) != nil {
                    damage.append(Damage(path: path, reason: "cannot be read"))
                }
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
            } catch  where Files.kindWithoutFollowing(path) != nil {
                damage.append(Damage(path: path, reason: "\(error.reason)"))
                if repairing { folder.quarantine(path, reason: "\(error.reason)") }
            } catch {}
        }
        for key in folder.entries(in: folder.packagesPath).digests {
            let path = folder.packagePath(key)
            guard let record = try? folder.record(key), !record.files.allSatisfy({ isWhole($0, in: path) }) else {
                continue
            }
            damage.append(Damage(path: path, reason: "a file in it is not the one that the record names"))
            if repairing { folder.quarantine(path, reason: "a file in it is not the one that the record names") }
        }
        return damage.sorted { $0.path < $1.path }
    }

    private func isWhole(_ file: CacheRecord.File, in path: String) -> Bool {
        guard let content = try? MappedFile("\(path)/\(file.path)").bytes else { return false }
        return content.count == file.byteCount && SHA256.digest(of: content) == file.digest
    }

    /// Removes everything of this layout; other layouts belong to other versions, and stay.
    public func clear() throws {
        try Files.removeTree("\(root)/\(CacheFolder.layoutName)")
    }
}
