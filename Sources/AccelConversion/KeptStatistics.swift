import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// Activation statistics of earlier conversions of the same model with the same samples, in the cache.
///
/// A run reads the weights from mapped files, which another process may change meanwhile. Its statistics are therefore
/// published only after `publish`, when the files are known to have matched the key all along.
final class KeptStatistics: StatisticsMemory, Sendable {
    private let cache: Cache
    private let sources: [Provenance.Source]
    private let samples: Digest
    private let family: String
    private let model: String
    private let pending = PendingRecords()

    /// nil without a cache, without samples, or if the digests of the model's files are not known.
    init?(_ cache: Cache?, _ digests: ModelDigests?, samples: SampleFile?, family: String, model: String) {
        guard let cache, let digests, let samples else { return nil }
        (self.cache, sources, self.model) = (cache, digests.sources, model)
        self.samples = samples.digest
        self.family = family
    }

    private func build(_ location: StatisticsLocation) -> CachedBuild<StatisticsResult> {
        let key = CacheKey(
            statisticsOf: location.weight, samples: samples, part: location.part, before: location.before,
            sources: sources,
            family: family)
        return CachedBuild(
            StatisticsResult(weight: location.weight, model: model, pending: pending), as: key, in: cache)
    }

    func statistics(at location: StatisticsLocation) -> ActivationStatistics? { try? build(location).find() }

    func keep(_ statistics: ActivationStatistics, at location: StatisticsLocation) throws {
        try build(location).store(statistics)
    }

    /// Publishes the pending statistics. Call it after `ModelDigests.requireUnchanged` has returned.
    func publish() { pending.publish(in: cache) }
}

/// Unpublished records by the digest of their key.
private final class PendingRecords: Sendable {
    private let records = Locked<[Digest: CacheRecord]>([:])

    subscript(key: CacheKey) -> CacheRecord? { records.withLock { $0[key.digest] } }
    func add(_ record: CacheRecord) { records.withLock { $0[record.key.digest] = record } }
    func publish(in cache: Cache) {
        for record in records.withLock({ $0.values.sorted { $0.key.digest < $1.key.digest } }) { cache.publish(record) }
    }
}

/// The activation statistics of one weight.
private struct StatisticsResult: CachedResult {
    let weight: String
    let model: String
    let pending: PendingRecords

    func find(_ key: CacheKey, in cache: Cache) -> ActivationStatistics? {
        let path = "statistics \(key.digest)"
        guard let content = cache.found(cache.statistics(for: key, pending: pending[key])),
            // A corrupt entry counts as a miss.
            let file = try? SafetensorsFile(content, file: path)
        else { return nil }
        return try? StatisticsFile.read(file, path: path)[weight]
    }

    func store(_ statistics: ActivationStatistics, as key: CacheKey, in cache: Cache) throws {
        let parts = try StatisticsFile.parts([weight: statistics])
        cache.put(statistics: parts, for: key, model: model).map(pending.add)
    }
}
