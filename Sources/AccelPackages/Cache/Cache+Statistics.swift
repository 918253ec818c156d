public import AccelByteIO

extension CacheKey {
    /// What samples tell of a weight's inputs.
    /// - Parameters:
    ///   - samples: digest of their file.
    ///   - part: of the model.
    ///   - before: digest of how the part's weights before this one are stored; nil: as they were.
    ///   - sources: every file of the model.
    ///   - family: the family's name and version, which made the part of the model.
    ///   - version: `Tool.calibrationVersion`; another for tests.
    public init(
        statisticsOf weight: String, samples: Digest, part: String, before: Digest?, sources: [Provenance.Source],
        family: String, version: Int = Tool.calibrationVersion
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
            ] + Self.fields(of: sources))
    }
}

extension Cache {
    /// The file of statistics of an earlier run; its bytes are verified.
    /// - Parameter pending: a record that is not published yet.
    public func statistics(for key: CacheKey, pending: CacheRecord? = nil) -> Result<ByteView, CacheMiss> {
        do throws(CacheMiss) {
            if let objection = readingObjection { throw objection }
            lease(key.digest)
            let record: CacheRecord
            if let pending { record = pending } else { record = try folder.record(key.digest) }
            guard let file = record.files.first else {
                throw CacheMiss(.malformedRecord("it is not that of statistics"))
            }
            let content = try folder.verifiedBlob(file)
            noteUse(of: key.digest)
            return .success(content)
        } catch {
            return .failure(error)
        }
    }

    /// Puts a file of statistics, given in parts, into the cache, where nothing names it yet.
    /// - Returns: the record that says what it is, for `publish`; nil when the cache cannot be written.
    public func put(statistics parts: [ByteView], for key: CacheKey, model: String) -> CacheRecord? {
        writing { folder in
            lease(key.digest)
            var file = try folder.putBlob(parts)
            file.path = "statistics"
            return CacheRecord(key: key, files: [file], model: model)
        }
    }

    /// Makes a record known to all, once what it says is certain.
    public func publish(_ record: CacheRecord) {
        _ = writing { folder in try folder.putRecord(record) }
    }
}
