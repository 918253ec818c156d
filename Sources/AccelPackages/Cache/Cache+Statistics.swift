public import AccelByteIO

extension CacheKey {
    /// The key of activation statistics.
    /// - Parameters:
    ///   - samples: the digest of the file with the calibration data.
    ///   - part: the part of the model.
    ///   - before: the digest of the part's encodings before this weight; nil for the original weights.
    ///   - sources: every file of the model.
    ///   - family: the name and version of the family that built the part.
    ///   - entry: what the shares of a conversion make of them, such as `slices 0..<4`; nil for the statistics.
    ///   - version: `Tool.calibrationVersion`; another one in tests.
    public init(
        statisticsOf weight: String, samples: Digest, part: String, before: Digest?, sources: [Provenance.Source],
        family: String, entry: String? = nil, version: Int = Tool.calibrationVersion
    ) {
        self.init(
            kind: .statistics,
            fields: [
                Field("calibration version", "\(version)"),
                Field("family", family),
                Field("samples", samples.description),
                Field("part", part),
                Field("weight", weight),
                Field("before", before?.description ?? "as it was"),
            ] + (entry.map { [Field("entry", $0)] } ?? []) + Self.fields(of: sources))
    }

    /// The key of the measured error of a package's outputs.
    /// - Parameters:
    ///   - package: the digest of the package.
    ///   - samples: the digest of the file with the calibration data.
    ///   - version: `Tool.calibrationVersion`; another one in tests.
    public init(outputsOf package: Digest, samples: Digest, version: Int = Tool.calibrationVersion) {
        self.init(
            kind: .statistics,
            fields: [
                Field("calibration version", "\(version)"), Field("samples", samples.description),
                Field("outputs of", package.description),
            ])
    }
}

extension Cache {
    /// Returns the statistics file of an earlier run, or of one that the cache's server knows, with its bytes verified.
    /// - Parameter pending: a record that is not published yet.
    public func statistics(for key: CacheKey, pending: CacheRecord? = nil) -> Result<ByteView, CacheMiss> {
        if pending == nil { fetch([key]) }
        return content(for: key, of: "statistics", pending: pending)
    }

    /// Returns the content of a record's only file, verified.
    func content(for key: CacheKey, of kind: String, pending: CacheRecord? = nil) -> Result<ByteView, CacheMiss> {
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
            lease(key.digest)
            let record: CacheRecord
            if let pending { record = pending } else { record = try folder.record(key.digest) }
            guard let file = record.files.first else {
                throw CacheMiss(.malformedRecord("it is not that of \(kind)"))
            }
            let content = try folder.verifiedBlob(file)
            noteUse(of: key.digest)
            return .success(content)
        } catch {
            return .failure(error)
        }
    }

    /// Stores a statistics file, given in parts, without a record.
    /// - Returns: Its record, for `publish`; nil if the cache cannot be written.
    public func put(statistics parts: [ByteView], for key: CacheKey, model: String) -> CacheRecord? {
        writing { folder in
            lease(key.digest)
            var file = try folder.putBlob(parts)
            file.path = "statistics"
            return CacheRecord(key: key, files: [file], model: model)
        }
    }

    /// Publishes a record, once its content is certain.
    public func publish(_ record: CacheRecord) {
        _ = writing { folder in try folder.putRecord(record) }
    }

    /// Returns those keys whose statistics the cache has, or its server, from which they are taken then. Their bytes are not verified.
    public func present(statistics keys: [CacheKey]) -> [CacheKey] {
        fetch(keys)
        return keys.filter(has)
    }

    /// Takes the results of keys that the folder lacks from the cache's server, where it has them.
    func fetch(_ keys: [CacheKey]) {
        guard let remote, readingMiss == nil else { return }
        remote.fetch(keys.filter { !has($0) }.map(\.digest), into: self)
    }

    private func has(_ key: CacheKey) -> Bool { (try? folder.record(key.digest)) != nil }

    /// Whether results come from a server, too.
    public var hasServer: Bool { remote != nil }

    /// Publishes a record for other processes that wait for it, by the cache's server too.
    public func publishAtOnce(_ record: CacheRecord) {
        publish(record)
        remote?.add(record)
        remote?.send(from: folder)
    }

    /// Removes statistics that are of no use any more from the folder, with their bytes.
    public func removeStatistics(for key: CacheKey) {
        writing { folder in
            guard let record = try? folder.record(key.digest) else { return }
            try Files.removeTree(folder.recordPath(key.digest))
            // Another record of the same bytes is a miss then, which is made again.
            for file in record.files { try Files.removeTree(folder.blobPath(file.digest)) }
        }
    }
}
