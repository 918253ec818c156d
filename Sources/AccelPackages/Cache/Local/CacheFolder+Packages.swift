import AccelByteIO

/// Packages of records. They are compared with their keys both when they are stored and when they are used.
extension CacheFolder {
    /// Compares the manifest with record and key; other files are not read.
    /// - Throws: A miss if it is another package; the record is then quarantined.
    func requireRightPackage(_ record: CacheRecord) throws(CacheMiss) {
        guard let file = record.files.first(where: { $0.path == PackageFormat.manifestName }) else {
            throw CacheMiss(.malformedRecord("it is not that of a package"))
        }
        let content = try verifiedBlob(file)
        do {
            try record.requireRight(try Manifest(content, file: PackageFormat.manifestName))
        } catch {
            throw wrong(record, "\(error)")
        }
    }

    /// Opens the package of a record in the cache, with all its files verified.
    /// - Throws: A miss if a file is missing or does not match record and key; it is then quarantined.
    func package(_ record: CacheRecord) throws(CacheMiss) -> AcceleratorPackage {
        for file in record.files { _ = try verifiedBlob(file) }
        do {
            return try openedPackage(record)
        } catch let miss as CacheMiss {
            throw miss
        } catch {
            throw wrong(record, "\(error)")
        }
    }

    /// Opens the package of a record without verifying files or changing the cache.
    func openedPackage(_ record: CacheRecord) throws -> AcceleratorPackage {
        let contents = try record.files.map { ($0.path, try blob($0)) }
        let package = try AcceleratorPackage(
            PackageMaps(path: recordPath(record.key.digest), contents: Dictionary(contents) { first, _ in first }))
        try record.requireRight(package.manifest)
        return package
    }

    /// Quarantines a record that names a wrong result.
    func wrong(_ record: CacheRecord, _ reason: String) -> CacheMiss {
        quarantine(recordPath(record.key.digest), reason: reason)
        return CacheMiss(.wrongResult(reason))
    }
}

extension CacheRecord {
    /// Checks that a manifest matches the record.
    /// - Throws: `RequestError` if it is not that of the record's package, or if it contradicts the key.
    fileprivate func requireRight(_ manifest: Manifest) throws {
        func wrong(_ reason: String) -> RequestError { RequestError(reason, status: .corrupt) }
        guard manifest.digest == package else { throw wrong("the package \(manifest.digest)") }
        let listed = [PackageFormat.manifestName] + manifest.files.map(\.name)
        guard listed.sorted() == files.map(\.path).sorted() else { throw wrong("other files than its manifest lists") }
        for file in files {
            guard let size = manifest.file(file.path)?.byteCount, size != file.byteCount else { continue }
            throw wrong("\(file.path) of \(file.byteCount) bytes instead of \(size)")
        }
        if let contradiction = key.contradiction(with: manifest) { throw wrong(contradiction) }
    }
}
