import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// Statistics of earlier conversions of the same model with the same samples, in the cache.
///
/// A run reads the weights where they are mapped. So others find what it tells only after `publish`, once the files are known
/// to have been those of the key all the time.
final class KeptStatistics: StatisticsMemory, Sendable {
    private let cache: Cache
    private let sources: [Provenance.Source]
    private let samples: Digest
    private let family: String
    private let model: String
    private let pending = PendingRecords()

    /// nil without a cache, or where nothing is known of the model's files.
    init?(_ cache: Cache?, _ digests: ModelDigests?, samples: SampleFile?, family: String, model: String) {
        guard let cache, let digests, let samples else { return nil }
        (self.cache, sources, self.model) = (cache, digests.sources, model)
        self.samples = samples.digest
        self.family = family
    }

    private func build(_ place: StatisticsPlace) -> CachedBuild<StatisticsResult> {
        let key = CacheKey(
            statisticsOf: place.weight, samples: samples, part: place.part, before: place.before, sources: sources,
            family: family)
        return CachedBuild(StatisticsResult(weight: place.weight, model: model, pending: pending), as: key, in: cache)
    }

    func statistics(at place: StatisticsPlace) -> ActivationStatistics? { try? build(place).find() }

    func keep(_ statistics: ActivationStatistics, at place: StatisticsPlace) throws {
        try build(place).store(statistics)
    }

    /// Call it once `ModelDigests.requireUnchanged` has returned.
    func publish() { pending.publish(in: cache) }
}

/// Records that are not published yet, by their keys.
private final class PendingRecords: Sendable {
    private let records = Locked<[Digest: CacheRecord]>([:])

    subscript(key: CacheKey) -> CacheRecord? { records.withLock { $0[key.digest] } }
    func add(_ record: CacheRecord) { records.withLock { $0[record.key.digest] = record } }
    func publish(in cache: Cache) {
        for record in records.withLock({ $0.values.sorted { $0.key.digest < $1.key.digest } }) { cache.publish(record) }
    }
}

/// The statistics of one weight's inputs.
private struct StatisticsResult: CachedResult {
    let weight: String
    let model: String
    let pending: PendingRecords

    func find(_ key: CacheKey, in cache: Cache) -> ActivationStatistics? {
        let path = "statistics \(key.digest)"
        guard let content = try? cache.statistics(for: key, pending: pending[key]).get(),
            // What cannot be read is found anew.
            let file = try? SafetensorsFile(content, file: path)
        else { return nil }
        return try? StatisticsFile.read(file, path: path)[weight]
    }

    func store(_ statistics: ActivationStatistics, as key: CacheKey, in cache: Cache) throws {
        let parts = try StatisticsFile.parts([weight: statistics])
        cache.put(statistics: parts, for: key, model: model).map(pending.add)
    }
}
